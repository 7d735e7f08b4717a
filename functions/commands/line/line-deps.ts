/** Names what work on the lines of one account needs. */

import type { QueueStore } from '../../../shared/commands/queue/queue-store.ts';
import type { CommandAccount } from '../../../shared/commands/send-command.ts';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

export interface LineDeps {
  readonly queue: QueueStore;
  readonly account: CommandAccount;
  /** Returns true while nothing may be sent for the account. */
  readonly isPaused: () => boolean;
  /** Returns which life of the account is served now. What was sealed in an earlier one cannot be opened any more. */
  readonly generation: () => number | undefined;
  /** Resolves to undefined when the command has started no operation. */
  readonly readRecord: (projectId: string, commandId: string) => Promise<CommandRecord | undefined>;
  /** Takes a permit of the account's rate limit and resolves to 0, or takes none and says for how long there is none. */
  readonly admit: (clientId: string) => Promise<number>;
  /** Asks the poller to read the project soon. */
  readonly wishForReading: (projectId: string) => Promise<void>;
  /** The key of the queue opens what a command sends, and seals what the upstream answers. */
  readonly queueKey: () => Promise<Secret>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}
