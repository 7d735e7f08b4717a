/** Builds the API over its ports: one set of adapters per account, one table of routes, one app. */

import type { Hono } from 'hono';
import { type AccountDirectory, openAccountDirectory } from '../../shared/accounts/account-directory.ts';
import { commandSettingsOf } from '../../shared/accounts/account-settings.ts';
import { createAccountReader, createAccountStore } from '../../shared/accounts/account-store.ts';
import { type PerAccount, perAccount } from '../../shared/accounts/per-account.ts';
import { createIncidentStore } from '../../shared/alerts/incidents/incident-store.ts';
import { createConfiguredMutes } from '../../shared/alerts/mutes/configured-mutes.ts';
import { createMuteStore } from '../../shared/alerts/mutes/mute-store.ts';
import { createTokenReader } from '../../shared/callers/token-store.ts';
import { createAuditLog } from '../../shared/commands/audit-log.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { type SharedAccount, upstreamAccount } from '../../shared/commands/upstream-account.ts';
import type { ApiAccount } from '../../shared/config/api-accounts.ts';
import type { ApiSettings } from '../../shared/config/api-config.ts';
import { readLaneStatuses } from '../../shared/lanes/lane-status.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { onDemand } from '../../shared/runtime/on-demand.ts';
import { readAccountStatus, readAccountStatuses } from '../../shared/store/account-status-store.ts';
import { createReadingWishes } from '../../shared/store/adapters/reading-wishes.ts';
import type { Table } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import type { AccountAdminDeps } from './accounts/account-admin.ts';
import { createAccountCheck } from './accounts/check-account.ts';
import type { ApiPorts, Readers } from './api-ports.ts';
import { BRIDGE_MOUNT } from './bridge/bridge-route.ts';
import { bridgeRoutes } from './bridge/bridge-routes.ts';
import { withDocumentation } from './documentation/documentation-routes.ts';
import { createAuthenticator } from './identity/authenticate.ts';
import { createAccountQueue } from './queue/account-queue.ts';
import { deafChannelReasons } from './read-model/channel-health.ts';
import { createReadModel } from './read-model/read-model.ts';
import { createApp } from './serving/app.ts';
import { createHeldPlaces, type HeldPlaces } from './serving/held-places.ts';
import { createPatientCallers } from './serving/patient-callers.ts';
import { rawRequestOf } from './serving/raw-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';
import { createSlackApp } from './slack/slack-app.ts';
import { passThroughRoutes } from './upstream/pass-through-routes.ts';
import type { UpstreamAccount } from './upstream/upstream-account.ts';

export interface Api {
  readonly app: Hono;
  readonly routes: readonly Route[];
  readonly serving: ServeDeps;
}

export function createApi(settings: ApiSettings, ports: ApiPorts): Api {
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const merge = { rules: settings.rules, settingsOf: commandSettingsOf };
  const directory = openAccountDirectory(settings.accounts, merge, ports);
  const accounts = servedAccounts(directory, ports, noteUnreadable);
  const readers = createReaders(settings, ports, { directory, noteUnreadable });
  const routes = createRoutes(settings, ports, { directory, accounts, readers, noteUnreadable });
  const serving = createServing(settings, ports, { directory, accounts, noteUnreadable });
  // A cold start that serves a client of the API does not load the console, which is a fifth of the code.
  const loadPages = async () => {
    const { createPages } = await import('./create-pages.ts');
    return createPages(ports, settings, { directory, readers, serving, routes });
  };
  const slack = createSlack(ports, serving, routes);
  const app = createApp({
    ...serving,
    routes,
    pages: [
      { path: '/console', app: loadPages },
      { path: `${BRIDGE_MOUNT}/slack`, app: slack },
    ],
  });
  return { app, routes, serving };
}

type Directory = AccountDirectory<ApiAccount>;

function createReaders(
  { alertChannels }: ApiSettings,
  { table, indexes, partitions, clock }: ApiPorts,
  { directory, noteUnreadable }: { readonly directory: Directory; readonly noteUnreadable: NoteUnreadable },
): Readers {
  return {
    readModels: perAccount(idIn(directory), ({ account_id }) =>
      createReadModel(table, indexes, account_id, { clock, noteUnreadable }),
    ),
    statusOf: (accountId) => readAccountStatus(table, accountId, noteUnreadable),
    accountList: {
      directory,
      store: createAccountReader(table, partitions, noteUnreadable),
      statusesOf: (accountIds) => readAccountStatuses(table, accountIds, noteUnreadable),
      laneStatuses: () => readLaneStatuses(partitions, noteUnreadable),
      clock,
    },
    deafChannels: () => deafChannelReasons(table, alertChannels, clock.now()),
  };
}

/** What only reads the bridge's own records of an account needs its id alone, whatever its settings are. */
function idIn(directory: Directory): (accountId: string) => { readonly account_id: string } | undefined {
  return (account_id) => (directory.get(account_id) === undefined ? undefined : { account_id });
}

function createRoutes(
  settings: ApiSettings,
  ports: ApiPorts,
  parts: {
    readonly directory: Directory;
    readonly accounts: PerAccount<UpstreamAccount>;
    readonly readers: Readers;
    readonly noteUnreadable: NoteUnreadable;
  },
): readonly Route[] {
  const { extraRoutes, openCalls } = settings;
  const { table, indexes, bus, pepper, telemetry, clock, wakes, newId } = ports;
  const { directory, accounts } = parts;
  const patient = createPatientCallers(placesOf(directory, table, clock), telemetry);
  const idempotency = createIdempotencyStore(table, clock, parts.noteUnreadable);
  const pollIntervalMsOf = (accountId: string) =>
    (directory.get(accountId)?.settings.poll_interval_seconds ?? 0) * 1_000;
  return withDocumentation([
    ...passThroughRoutes(
      {
        accounts,
        standingOf: (accountId) => directory.get(accountId),
        patient,
        idempotency,
        pepper,
        telemetry,
        clock,
        wakes,
      },
      { extraRoutes, openCalls },
    ),
    ...bridgeRoutes({
      ...parts.readers,
      ...alertStores(directory, { table, indexes, clock }, parts.noteUnreadable),
      accountAdmin: accountAdminOf(settings, ports, parts),
      queues: { get: (accountId) => accounts.get(accountId)?.queue },
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

function accountAdminOf(
  { rules }: ApiSettings,
  ports: ApiPorts,
  parts: {
    readonly directory: Directory;
    readonly accounts: PerAccount<UpstreamAccount>;
    readonly noteUnreadable: NoteUnreadable;
  },
): AccountAdminDeps {
  const { table, partitions } = ports;
  const { directory, accounts, noteUnreadable } = parts;
  return {
    directory,
    store: createAccountStore(table, partitions, { ...ports, noteUnreadable }),
    rules,
    check: createAccountCheck(ports),
    hasQueuedCommands: async (accountId) =>
      ((await accounts.get(accountId)?.queue.store.findLines(1)) ?? []).length > 0,
  };
}

/** Returns what callers change of alerts. */
function alertStores(
  directory: Directory,
  { table, indexes, clock }: Pick<ApiPorts, 'table' | 'indexes' | 'clock'>,
  noteUnreadable: NoteUnreadable,
) {
  const ports = { clock, noteUnreadable };
  return {
    muteStores: perAccount(idIn(directory), ({ account_id }) =>
      createMuteStore(table, indexes, account_id, ports),
    ),
    incidentStores: perAccount(idIn(directory), ({ account_id }) =>
      createIncidentStore(table, account_id, ports),
    ),
    readConfiguredMutes: createConfiguredMutes(table, noteUnreadable).readConfigured,
  };
}

/** Adds to each account what only the API needs of it. */
function servedAccounts(
  directory: Directory,
  ports: ApiPorts,
  noteUnreadable: NoteUnreadable,
): PerAccount<SharedAccount & UpstreamAccount> {
  const { table, clock, telemetry } = ports;
  const create = (settings: ApiAccount) => {
    const { account_id, poll_interval_seconds } = settings;
    const queue = createAccountQueue(table, account_id, clock, noteUnreadable);
    const wishes = createReadingWishes(table, account_id, clock);
    const wishForReading = (project_id: string) =>
      wishes.wishForReading(project_id, poll_interval_seconds * 1_000).catch((error: unknown) => {
        telemetry.log('warn', 'wish.not_stored', { account_id, project_id, reason: toError(error).name });
      });
    return { ...upstreamAccount(settings, ports, noteUnreadable), queue, wishForReading };
  };
  return perAccount((accountId) => directory.get(accountId)?.settings, create);
}

/** Returns the places in which callers may wait. */
function placesOf(directory: Directory, table: Table, clock: Clock): PerAccount<HeldPlaces> {
  return perAccount(
    (accountId) => directory.get(accountId)?.settings,
    ({ caller_waits_max }) => createHeldPlaces(table, clock, caller_waits_max),
  );
}

function createServing(
  { oidc }: ApiSettings,
  { table, pepper, clock, telemetry, newId }: ApiPorts,
  parts: {
    readonly directory: Directory;
    readonly accounts: PerAccount<SharedAccount>;
    readonly noteUnreadable: NoteUnreadable;
  },
): ServeDeps {
  const tokens = createTokenReader(table, parts.noteUnreadable);
  const verifier =
    oidc && onDemand(async () => (await import('./identity/verify-jwt.ts')).createJwtVerifier(oidc, clock));
  const verifyJwt = verifier && (async (token: string) => (await verifier())(token));
  return {
    authenticator: createAuthenticator({ tokens, pepper, verifyJwt, clock }),
    refreshAccounts: () => parts.directory.refresh(),
    fairShares: { get: (accountId) => parts.accounts.get(accountId)?.fairShare },
    audit: createAuditLog(table, clock),
    clock,
    telemetry,
    newId,
  };
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
