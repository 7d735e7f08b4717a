/** The API over its ports: one set of adapters per account, one route table, one app. */

import type { Hono } from 'hono';
import { createTokenStore } from '../../shared/callers/token-store.ts';
import { createAuditLog } from '../../shared/commands/audit-log.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import type { ApiAccount, ApiSettings } from '../../shared/config/api-config.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createCommandUsage } from '../../shared/store/command-usage.ts';
import type { Table, TableCounters, TableIndexes } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import { createUpstreamClient } from '../../shared/upstream/http-client.ts';
import { type KeySource, shareRefresh } from '../../shared/upstream/key-source.ts';
import { bridgeRoutes } from './bridge/bridge-routes.ts';
import { deafChannelReasons } from './bridge/channel-health.ts';
import { createReadModel } from './bridge/read-model.ts';
import { readAlertHistory } from './console/alert-history.ts';
import { createConsole } from './console/create-console.ts';
import { createEndedSessions } from './console/ended-sessions.ts';
import { withDocumentation } from './documentation/documentation-routes.ts';
import { createApp } from './serving/app.ts';
import { createAuthenticator } from './serving/authenticate.ts';
import { createFairShare, type FairShare } from './serving/fair-share.ts';
import { createHeldPlaces } from './serving/held-places.ts';
import { createPatientCallers } from './serving/patient-callers.ts';
import type { RawRequest } from './serving/read-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';
import { createJwtVerifier } from './serving/verify-jwt.ts';
import { passThroughRoutes } from './upstream/pass-through-routes.ts';
import type { UpstreamAccount } from './upstream/upstream-account.ts';

export interface ApiPorts {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly counters: TableCounters;
  readonly bus: EventBus;
  /** For rules that people copy. */
  readonly busName: string;
  readonly keyOf: (account: ApiAccount) => KeySource;
  /** Keys the hashes of tokens and Idempotency-Keys. */
  readonly pepper: () => Promise<Secret>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly fetch?: typeof fetch;
}

export interface Api {
  readonly app: Hono;
  readonly routes: readonly Route[];
  readonly serving: ServeDeps;
}

export function createApi(settings: ApiSettings, ports: ApiPorts): Api {
  const { table, pepper, telemetry, clock, newId } = ports;
  const noteUnreadable = createUnreadableNotes(telemetry);
  const accounts = new Map(
    settings.accounts.map((account) => {
      const fairShare = fairShareOf(account, ports);
      const upstream = upstreamAccount(account, { ...ports, noteUnreadable }, fairShare);
      return [account.account_id, { fairShare, upstream }];
    }),
  );
  const patient = createPatientCallers(
    new Map(
      settings.accounts.map(({ account_id, caller_waits_max }) => [
        account_id,
        createHeldPlaces(table, clock, caller_waits_max),
      ]),
    ),
    telemetry,
  );
  const intervals = new Map(
    settings.accounts.map(({ account_id, poll_interval_seconds }) => [account_id, poll_interval_seconds]),
  );
  const pollIntervalMsOf = (accountId: string) => (intervals.get(accountId) ?? 0) * 1_000;
  const passThroughDeps = {
    patient,
    accounts: new Map([...accounts].map(([id, { upstream }]) => [id, upstream])),
    idempotency: createIdempotencyStore(table, clock, noteUnreadable),
    pepper,
    telemetry,
  };
  const readModels = new Map(
    settings.accounts.map(({ account_id }) => [
      account_id,
      createReadModel(table, ports.indexes, account_id, { clock, noteUnreadable }),
    ]),
  );
  const statusOf = (accountId: string) => readAccountStatus(table, accountId, noteUnreadable);
  const deafChannels = () => deafChannelReasons(table, clock.now());
  const routes = withDocumentation([
    ...passThroughRoutes(passThroughDeps, settings.extraRoutes),
    ...bridgeRoutes({ readModels, statusOf, deafChannels, patient, pollIntervalMsOf, pepper, clock }),
  ]);
  const serving: ServeDeps = {
    authenticator: createAuthenticator({
      tokens: createTokenStore(table, clock, noteUnreadable),
      pepper,
      verifyJwt: settings.oidc && createJwtVerifier(settings.oidc, clock),
      clock,
    }),
    fairShares: new Map([...accounts].map(([id, { fairShare }]) => [id, fairShare])),
    audit: createAuditLog(table, clock),
    clock,
    telemetry,
    newId,
  };
  const pages = createConsole({
    readModels,
    statusOf,
    deafChannels,
    alertsOf: (record) => readAlertHistory(table, record),
    authenticator: serving.authenticator,
    endedSessions: createEndedSessions(table),
    pepper,
    clock,
    newId,
    busName: ports.busName,
    telemetry,
    audit: serving.audit,
    routes,
    call: (route, { caller, ids, idempotencyKey }) =>
      serveCaller(serving, route, { caller, raw: requestOf(ids, idempotencyKey) }),
  });
  const app = createApp({ ...serving, routes, pages: [{ path: '/console', app: pages }] });
  return { app, routes, serving };
}

/** A request that no wire brought: ids, and nothing else. */
function requestOf(ids: Readonly<Record<string, string>>, idempotencyKey: string | undefined): RawRequest {
  const headers = new Headers({
    prefer: 'wait=5',
    ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
  });
  return { ids, query: new URLSearchParams(), headers, body: async () => new Uint8Array() };
}

function fairShareOf(account: ApiAccount, { clock, telemetry, counters }: ApiPorts): FairShare {
  return createFairShare({
    clock,
    telemetry,
    usage: createCommandUsage(counters, account.account_id),
    requestsPerMinute: account.requests_per_minute,
    callerRequestsPerMinute: account.caller_requests_per_minute,
  });
}

function upstreamAccount(
  settings: ApiAccount,
  ports: ApiPorts & { readonly noteUnreadable: NoteUnreadable },
  fairShare: FairShare,
): UpstreamAccount {
  const { table, bus, keyOf, telemetry, clock, random } = ports;
  const upstream = {
    base: new URL(settings.upstream_base_url),
    apiKey: shareRefresh(keyOf(settings)),
    clock,
    random,
    budget: fairShare.budget,
    ...(ports.fetch && { fetch: ports.fetch }),
  };
  const store = createBridgeStore(table, settings.account_id, clock, ports.noteUnreadable);
  return {
    upstream,
    fairShare,
    work: store,
    recording: {
      accountId: settings.account_id,
      bus,
      store,
      upstream: createUpstreamClient({ ...upstream, baseUrl: settings.upstream_base_url }),
      telemetry,
      clock,
      settleWithinMs: settings.settle_within_seconds * 1_000,
    },
  };
}
