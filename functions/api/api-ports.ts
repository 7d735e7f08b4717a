/**
 * Names what the API is built from: its ports to the outside, what all of its parts read through, and an account of
 * the upstream as callers reach it.
 */

import type { AccountDirectory, PerAccount, StandingOf } from '../../shared/accounts/account-directory.ts';
import type { FairShare } from '../../shared/commands/fair-share.ts';
import type { CommandAccount } from '../../shared/commands/send-command.ts';
import type { Wakes } from '../../shared/commands/wakes.ts';
import type { ApiAccount } from '../../shared/config/api-config.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import type { AccountStatus } from '../../shared/records/account-status.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { Table, TableIndexes, TablePartitions } from '../../shared/store/table.ts';
import type { SendHttp } from '../../shared/upstream/pooled-http.ts';
import type { KeySource } from '../../shared/upstream/send-with-key.ts';
import type { AccountListDeps } from './bridge/account-routes.ts';
import type { UsageDeps } from './bridge/usage-routes.ts';
import type { BusReader } from './read-model/bus-reader.ts';
import type { ReadModel } from './read-model/read-model.ts';
import type { AccountQueue } from './upstream/account-queue.ts';

export interface ApiPorts {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly partitions: TablePartitions;
  readonly bus: EventBus;
  /** The console shows this name in the rules that people copy. */
  readonly busName: string;
  /** Reads how the bus delivers. */
  readonly busReader: () => Promise<BusReader>;
  readonly keyOf: (account: ApiAccount) => KeySource;
  /** The pepper keys the hashes of tokens and Idempotency-Keys, and everything that is sealed but the queue. */
  readonly pepper: () => Promise<Secret>;
  /** The key of the queue seals what waits in line and what became of it. The worker has it, too. */
  readonly queueKey: () => Promise<Secret>;
  /** The secret of the bridge at the company's provider. It is undefined when people sign in with a token alone. */
  readonly signInSecret?: (() => Promise<Secret>) | undefined;
  /** The secret of the Slack channel. Without it no button on Slack is served. */
  readonly slackSecret?: (() => Promise<Secret>) | undefined;
  /** The secret of the PagerDuty channel. Without it no acknowledgement at PagerDuty is taken. */
  readonly pagerDutySecret?: (() => Promise<Secret>) | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  /** At most this many instances of all functions send commands at once. */
  readonly instancesMax: number;
  /** Wakes the worker that sends queued commands. */
  readonly wakes: Wakes;
  readonly newId: () => string;
  readonly fetch?: typeof fetch;
  /** Sends what is read of the upstream. The default is `fetch`, which sends everything else. */
  readonly sendRead?: SendHttp;
}

/** Knows the accounts that the API serves. */
export type Directory = AccountDirectory<ApiAccount>;

/** Every part of the API reads through these. */
export interface Readers extends UsageDeps {
  readonly readModels: PerAccount<ReadModel>;
  readonly accountList: AccountListDeps;
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly standingOf: StandingOf;
  /** Resolves to a sentence for each alert channel that accepts nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
}

export interface UpstreamAccount extends CommandAccount {
  readonly queue: AccountQueue;
  /** Asks the poller to read the project soon. Does not reject, because a wish that is lost only costs time. */
  readonly wishForReading: (projectId: string) => Promise<void>;
  /** Each repetition needs a permit of its own, from the limits of the caller and of the account. */
  readonly fairShare: FairShare;
}
