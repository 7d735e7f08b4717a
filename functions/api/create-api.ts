/** Builds the API over its ports: one set of adapters per account, one table of routes, one app. */

import type { Hono } from 'hono';
import { createIncidentStore } from '../../shared/alerts/incidents/incident-store.ts';
import { createConfiguredMutes } from '../../shared/alerts/mutes/configured-mutes.ts';
import { createMuteStore } from '../../shared/alerts/mutes/mute-store.ts';
import { createTokenReader } from '../../shared/callers/token-store.ts';
import { createAuditLog } from '../../shared/commands/audit-log.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import type { Wakes } from '../../shared/commands/queue/wakes.ts';
import { type SharedAccount, upstreamAccounts } from '../../shared/commands/upstream-accounts.ts';
import type { ApiAccount } from '../../shared/config/api-accounts.ts';
import type { ApiSettings } from '../../shared/config/api-config.ts';
import type { AccountStatus } from '../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../shared/core/records/operation-record.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Secret } from '../../shared/runtime/secret.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus } from '../../shared/store/account-status-store.ts';
import { createReadingWishes } from '../../shared/store/adapters/reading-wishes.ts';
import type { Table, TableCounters, TableIndexes } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import type { KeySource } from '../../shared/upstream/key-source.ts';
import { BRIDGE_MOUNT } from './bridge/bridge-route.ts';
import { bridgeRoutes } from './bridge/bridge-routes.ts';
import { createConsole } from './console/create-console.ts';
import { readAlertHistory, type SentAlerts } from './console/pages/operation/alert-history.ts';
import type { RouteCall } from './console/pages/upstream-view.ts';
import { createEndedSessions } from './console/session/ended-sessions.ts';
import { createIdentityProvider } from './console/sign-in/identity-provider.ts';
import { createRoleCallers } from './console/sign-in/role-callers.ts';
import { withDocumentation } from './documentation/documentation-routes.ts';
import { createAuthenticator } from './identity/authenticate.ts';
import { createJwtVerifier } from './identity/verify-jwt.ts';
import { createAccountQueue } from './queue/account-queue.ts';
import { deafChannelReasons } from './read-model/channel-health.ts';
import { createReadModel, type ReadModel } from './read-model/read-model.ts';
import { createApp } from './serving/app.ts';
import { createHeldPlaces, type HeldPlaces } from './serving/held-places.ts';
import { createPatientCallers } from './serving/patient-callers.ts';
import type { RawRequest } from './serving/read-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';
import { createSlackApp } from './slack/slack-app.ts';
import { passThroughRoutes } from './upstream/pass-through-routes.ts';
import type { UpstreamAccount } from './upstream/upstream-account.ts';

export interface ApiPorts {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly counters: TableCounters;
  readonly bus: EventBus;
  /** The console shows this name in the rules that people copy. */
  readonly busName: string;
  readonly keyOf: (account: ApiAccount) => KeySource;
  /** The pepper keys the hashes of tokens and Idempotency-Keys, and everything that is sealed. */
  readonly pepper: () => Promise<Secret>;
  /** The secret of the bridge at the company's provider. It is undefined when people sign in with a token alone. */
  readonly signInSecret?: (() => Promise<Secret>) | undefined;
  /** The secret of the Slack channel. Without it no button on Slack is served. */
  readonly slackSecret?: (() => Promise<Secret>) | undefined;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  /** Wakes the worker that sends queued commands. */
  readonly wakes: Wakes;
  readonly newId: () => string;
  readonly fetch?: typeof fetch;
}

export interface Api {
  readonly app: Hono;
  readonly routes: readonly Route[];
  readonly serving: ServeDeps;
}

/** Every part of the API reads through these. They are made once for all accounts. */
interface Readers {
  /** The keys are account ids. */
  readonly readModels: ReadonlyMap<string, ReadModel>;
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  /** Resolves to a sentence for each alert channel that accepts nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  /** Resolves to the alerts about an operation that were sent. */
  readonly alertsOf: (record: OperationRecord) => Promise<readonly SentAlerts[]>;
}

export function createApi(settings: ApiSettings, ports: ApiPorts): Api {
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const shared = upstreamAccounts(settings.accounts, ports, noteUnreadable);
  const accounts = servedAccounts(settings, ports, { shared, noteUnreadable });
  const readers = createReaders(settings, ports, noteUnreadable);
  const routes = createRoutes(settings, ports, { accounts, readers, noteUnreadable });
  const fairShares = new Map([...accounts].map(([id, { fairShare }]) => [id, fairShare]));
  const serving = createServing(settings, ports, { fairShares, noteUnreadable });
  const pages = createPages(settings, ports, { readers, serving, routes });
  const slack = createSlack(ports, serving, routes);
  const app = createApp({
    ...serving,
    routes,
    pages: [
      { path: '/console', app: pages },
      { path: `${BRIDGE_MOUNT}/slack`, app: slack },
    ],
  });
  return { app, routes, serving };
}

function createReaders(
  { accounts, alertChannels }: ApiSettings,
  { table, indexes, clock }: ApiPorts,
  noteUnreadable: NoteUnreadable,
): Readers {
  const readModels = accounts.map(({ account_id }) => {
    const model = createReadModel(table, indexes, account_id, { clock, noteUnreadable });
    return [account_id, model] as const;
  });
  return {
    readModels: new Map(readModels),
    statusOf: (accountId) => readAccountStatus(table, accountId, noteUnreadable),
    deafChannels: () => deafChannelReasons(table, alertChannels, clock.now()),
    alertsOf: (record) => readAlertHistory(table, alertChannels, record),
  };
}

function createRoutes(
  { accounts: settings, extraRoutes, openCalls }: ApiSettings,
  { table, indexes, bus, pepper, telemetry, clock, wakes, newId }: ApiPorts,
  parts: {
    readonly accounts: ReadonlyMap<string, UpstreamAccount>;
    readonly readers: Readers;
    readonly noteUnreadable: NoteUnreadable;
  },
): readonly Route[] {
  const patient = createPatientCallers(placesOf(settings, table, clock), telemetry);
  const idempotency = createIdempotencyStore(table, clock, parts.noteUnreadable);
  const intervalsMs = new Map(
    settings.map(({ account_id, poll_interval_seconds }) => [account_id, poll_interval_seconds * 1_000]),
  );
  const pollIntervalMsOf = (accountId: string) => intervalsMs.get(accountId) ?? 0;
  return withDocumentation([
    ...passThroughRoutes(
      { accounts: parts.accounts, patient, idempotency, pepper, telemetry, clock, wakes },
      { extraRoutes, openCalls },
    ),
    ...bridgeRoutes({
      ...parts.readers,
      ...alertStores(settings, { table, indexes, clock }, parts.noteUnreadable),
      queues: new Map([...parts.accounts].map(([id, { queue }]) => [id, queue])),
      bus,
      patient,
      pollIntervalMsOf,
      pepper,
      clock,
      wakes,
      telemetry,
      newId,
    }),
  ]);
}

/** Returns what callers change of alerts. The keys of both maps are account ids. */
function alertStores(
  accounts: readonly ApiAccount[],
  { table, indexes, clock }: Pick<ApiPorts, 'table' | 'indexes' | 'clock'>,
  noteUnreadable: NoteUnreadable,
) {
  const ports = { clock, noteUnreadable };
  const mapOf = <Store>(storeOf: (accountId: string) => Store) =>
    new Map(accounts.map(({ account_id }) => [account_id, storeOf(account_id)] as const));
  return {
    muteStores: mapOf((accountId) => createMuteStore(table, indexes, accountId, ports)),
    readConfiguredMutes: createConfiguredMutes(table, noteUnreadable).readConfigured,
    incidentStores: mapOf((accountId) => createIncidentStore(table, accountId, ports)),
  };
}

/** Adds to each account what only the API needs of it. The keys of the map are account ids. */
function servedAccounts(
  { accounts }: ApiSettings,
  { table, clock, telemetry }: ApiPorts,
  parts: { readonly shared: ReadonlyMap<string, SharedAccount>; readonly noteUnreadable: NoteUnreadable },
): ReadonlyMap<string, SharedAccount & UpstreamAccount> {
  const entries = accounts.flatMap(({ account_id, poll_interval_seconds }) => {
    const account = parts.shared.get(account_id);
    if (account === undefined) return [];
    const queue = createAccountQueue(table, account_id, clock, parts.noteUnreadable);
    const wishes = createReadingWishes(table, account_id, clock);
    const wishForReading = (project_id: string) =>
      wishes.wishForReading(project_id, poll_interval_seconds * 1_000).catch((error: unknown) => {
        telemetry.log('warn', 'wish.not_stored', { account_id, project_id, reason: toError(error).name });
      });
    return [[account_id, { ...account, queue, wishForReading }] as const];
  });
  return new Map(entries);
}

/** Returns the places in which callers may wait, by account id. */
function placesOf(
  accounts: readonly ApiAccount[],
  table: Table,
  clock: Clock,
): ReadonlyMap<string, HeldPlaces> {
  const places = accounts.map(({ account_id, caller_waits_max }) => {
    return [account_id, createHeldPlaces(table, clock, caller_waits_max)] as const;
  });
  return new Map(places);
}

function createServing(
  { oidc }: ApiSettings,
  { table, pepper, clock, telemetry, newId }: ApiPorts,
  parts: {
    readonly fairShares: ServeDeps['fairShares'];
    readonly noteUnreadable: NoteUnreadable;
  },
): ServeDeps {
  const tokens = createTokenReader(table, parts.noteUnreadable);
  const verifyJwt = oidc && createJwtVerifier(oidc, clock);
  return {
    authenticator: createAuthenticator({ tokens, pepper, verifyJwt, clock }),
    fairShares: parts.fairShares,
    audit: createAuditLog(table, clock),
    clock,
    telemetry,
    newId,
  };
}

function createPages(
  { accounts, signIn }: ApiSettings,
  { table, pepper, busName, clock, signInSecret }: ApiPorts,
  parts: { readonly readers: Readers; readonly serving: ServeDeps; readonly routes: readonly Route[] },
): Hono {
  const { readers, serving, routes } = parts;
  return createConsole({
    ...readers,
    authenticator: serving.authenticator,
    endedSessions: createEndedSessions(table),
    callerOfPerson: createRoleCallers(signIn),
    provider: signIn && createIdentityProvider(signIn, { clock, secret: signInSecret }),
    signIn,
    consoleBaseUrl: signIn?.base_url,
    pepper,
    clock: serving.clock,
    newId: serving.newId,
    busName,
    upstreamPages: upstreamPagesOf(accounts),
    telemetry: serving.telemetry,
    audit: serving.audit,
    routes,
    call: (route, { caller, ...request }) =>
      serveCaller(serving, route, { caller, raw: rawRequestOf(request) }),
  });
}

function upstreamPagesOf(accounts: readonly ApiAccount[]): ReadonlyMap<string, string> {
  return new Map(
    accounts.flatMap(({ account_id, upstream_page_url }) =>
      upstream_page_url === undefined ? [] : [[account_id, upstream_page_url] as const],
    ),
  );
}

/** Serves the buttons on Slack. What they do is a call of a route like any other. */
function createSlack({ slackSecret, fetch }: ApiPorts, serving: ServeDeps, routes: readonly Route[]): Hono {
  return createSlackApp({
    slackSecret,
    ...(fetch && { fetch }),
    clock: serving.clock,
    telemetry: serving.telemetry,
    newId: serving.newId,
    callRoute: async (routeId, { caller, ...request }) => {
      const route = routes.find(({ id }) => id === routeId);
      if (route === undefined) throw new Error(`There is no route ${routeId}`);
      return serveCaller(serving, route, { caller, raw: rawRequestOf(request) });
    },
  });
}

/** Turns a form of the console, or a button on Slack, into a request to a route. It has ids, and no query. */
function rawRequestOf({ ids, idempotencyKey, body }: Omit<RouteCall, 'caller'>): RawRequest {
  const headers = new Headers({
    prefer: 'wait=5',
    ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
  });
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
  return { ids, query: new URLSearchParams(), headers, body: async () => bytes };
}
