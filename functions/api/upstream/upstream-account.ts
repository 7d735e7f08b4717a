/** Describes one account of the upstream as the API's callers reach it. */

import type { FairShare } from '../../../shared/commands/permits/fair-share.ts';
import type { CommandAccount } from '../../../shared/commands/send-command.ts';
import type { AccountQueue } from '../queue/account-queue.ts';

export interface UpstreamAccount extends CommandAccount {
  readonly queue: AccountQueue;
  /** Asks the poller to read the project soon. Does not reject, because a wish that is lost only costs time. */
  readonly wishForReading: (projectId: string) => Promise<void>;
  /** Each repetition needs a permit of its own, from the limits of the caller and of the account. */
  readonly fairShare: Pick<FairShare, 'admit'>;
}
