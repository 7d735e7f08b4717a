/** Builds what commands need of an account of the upstream: its client, its rate limit, and what records its operations. */

import type { ApiAccount } from '../config/api-config.ts';
import type { EventBus } from '../events/event-bus.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { createBridgeStore } from '../store/bridge-store.ts';
import { createLedgerStore } from '../store/ledger-store.ts';
import type { Table } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';
import { type SendHttp, sendByFetch, sendByKind } from '../upstream/pooled-http.ts';
import { type KeySource, shareRefresh } from '../upstream/send-with-key.ts';
import { createUpstreamClient } from '../upstream/upstream-client.ts';
import { createFairShare, type FairShare } from './fair-share.ts';
import type { CommandAccount } from './send-command.ts';

export interface AccountPorts {
  readonly table: Table;
  readonly bus: EventBus;
  readonly keyOf: (account: ApiAccount) => KeySource;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  /** At most this many instances of all functions send commands at once. */
  readonly instancesMax: number;
  readonly fetch?: typeof fetch;
  /** Sends what is read of the upstream. The default is `fetch`, which sends everything else. */
  readonly sendRead?: SendHttp;
}

export interface SharedAccount extends CommandAccount {
  readonly fairShare: FairShare;
}

/** Builds what commands need of the account. */
export function upstreamAccount(
  settings: ApiAccount,
  ports: AccountPorts,
  noteUnreadable: NoteUnreadable,
): SharedAccount {
  const { account_id, upstream_base_url: baseUrl } = settings;
  const { table, bus, keyOf, telemetry, clock, random } = ports;
  const fairShare = fairShareOf(settings, ports, noteUnreadable);
  const upstream = {
    base: new URL(baseUrl),
    apiKey: shareRefresh(keyOf(settings)),
    clock,
    random,
    budget: fairShare.budget,
    ...(ports.fetch && { fetch: ports.fetch }),
    ...(ports.sendRead && { send: sendByKind(ports.sendRead, sendByFetch(ports.fetch)) }),
  };
  const store = createBridgeStore(table, account_id, clock, noteUnreadable);
  const recording = {
    accountId: account_id,
    bus,
    store,
    upstream: createUpstreamClient({ ...upstream, baseUrl }),
    telemetry,
    clock,
    settleWithinMs: settings.settle_within_seconds * 1_000,
  };
  return { upstream, fairShare, work: store, recording };
}

function fairShareOf(account: ApiAccount, ports: AccountPorts, noteUnreadable: NoteUnreadable): FairShare {
  return createFairShare({
    ...ports,
    store: createLedgerStore(ports.table, account.account_id, noteUnreadable),
    rate: {
      pollerRequestsPerMinute: account.poller_requests_per_minute,
      commandRequestsPerMinute: account.requests_per_minute,
      limitRequestsPerMinute: account.limit_requests_per_minute,
    },
    requestsPerSecond: account.requests_per_second,
    callerRequestsPerMinute: account.caller_requests_per_minute,
  });
}
