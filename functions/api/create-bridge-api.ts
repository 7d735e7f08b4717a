/**
 * Builds the bridge's own routes under `/bridge/v1`, with the documentation and the buttons on Slack. It is loaded with the
 * first request for one of them, and by the console, which calls them.
 */

import type { Hono } from 'hono';
import { type PerAccount, perAccount } from '../../shared/accounts/account-directory.ts';
import { createAccountReader, createAccountStore } from '../../shared/accounts/account-store.ts';
import { createIncidentStore } from '../../shared/alerts/incidents.ts';
import { createConfiguredMutes, createMuteStore } from '../../shared/alerts/mutes.ts';
import { cursorSealOf } from '../../shared/callers/seal.ts';
import type { ApiSettings } from '../../shared/config/api-config.ts';
import { readAccountStatus, readAccountStatuses } from '../../shared/store/account-status-store.ts';
import { accountKey } from '../../shared/store/keys.ts';
import type { NoteUnreadable } from '../../shared/store/unreadable.ts';
import type { ApiPorts, Directory, Readers, UpstreamAccount } from './api-ports.ts';
import type { AccountAdminDeps } from './bridge/account-admin.ts';
import { createAccountCheck } from './bridge/account-check.ts';
import { BRIDGE_MOUNT } from './bridge/bridge-route-ids.ts';
import { bridgeRoutes } from './bridge/bridge-routes.ts';
import { createPagerDutyApp } from './bridge/pagerduty-app.ts';
import { type CallRoute, createSlackApp } from './bridge/slack-app.ts';
import { withDocumentation } from './documentation/documentation-routes.ts';
import { deafChannelReasons } from './read-model/alerts.ts';
import { createAuditReader } from './read-model/audit-reader.ts';
import { createReadModel, sealedAudit } from './read-model/read-model.ts';
import { keptForAMinute } from './read-model/subscriptions.ts';
import { checkRoutes, createRoutesApp } from './serving/app.ts';
import { rawRequestOf } from './serving/read-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';
import type { PatientCallers } from './serving/waiting.ts';

export interface BridgeApi {
  /** Serves every path under `/bridge/v1`. */
  readonly app: Hono;
  /** These are all routes of the API, because the documentation describes them all. */
  readonly routes: readonly Route[];
  readonly readers: Readers;
}

interface Parts {
  readonly directory: Directory;
  readonly accounts: PerAccount<UpstreamAccount>;
  readonly patient: PatientCallers;
  readonly noteUnreadable: NoteUnreadable;
  readonly serving: ServeDeps;
  /** The routes of the calls that are passed on, which are served elsewhere. */
  readonly passedOn: readonly Route[];
}

/** Throws when two routes collide or a route has no access rule. */
export function createBridgeApi(settings: ApiSettings, ports: ApiPorts, parts: Parts): BridgeApi {
  const readers = createReaders(settings, ports, parts);
  const own = createRoutes(settings, ports, { ...parts, readers });
  const routes = withDocumentation([...parts.passedOn, ...own], ports.clock);
  checkRoutes(routes);
  const { serving, passedOn } = parts;
  const app = createRoutesApp({ ...serving, routes: routes.filter((route) => !passedOn.includes(route)) });
  const callRoute = callerOfRoutes(serving, routes);
  const { clock, telemetry, newId } = serving;
  const pressed = { callRoute, clock, telemetry, newId };
  app.route(
    `${BRIDGE_MOUNT}/slack`,
    createSlackApp({ ...ports, ...pressed, slackSecret: ports.slackSecret }),
  );
  app.route(
    `${BRIDGE_MOUNT}/pagerduty`,
    createPagerDutyApp({
      ...alertStores(parts.directory, ports, parts.noteUnreadable),
      ...pressed,
      table: ports.table,
      pagerDutySecret: ports.pagerDutySecret,
    }),
  );
  return { app, routes, readers };
}

function createReaders(
  { alertChannels, takesCallbacks }: ApiSettings,
  { table, indexes, partitions, clock }: ApiPorts,
  { directory, noteUnreadable }: Parts,
): Readers {
  return {
    readModels: perAccount(idIn(directory), ({ account_id }) =>
      createReadModel(table, indexes, account_id, { clock, noteUnreadable, takesCallbacks }),
    ),
    statusOf: (accountId) => readAccountStatus(table, accountId, noteUnreadable),
    unitHourPriceOf: (accountId) => directory.get(accountId)?.settings.compute_unit_hour_price,
    standingOf: (accountId) => directory.get(accountId),
    accountList: {
      directory,
      store: createAccountReader(table, partitions, noteUnreadable),
      statusesOf: (accountIds) => readAccountStatuses(table, accountIds, noteUnreadable),
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
  parts: Parts & { readonly readers: Readers },
): readonly Route[] {
  const { table, indexes, bus, busName, pepper, queueKey, telemetry, clock, wakes, newId } = ports;
  const { directory, accounts, patient } = parts;
  const readBus = keptForAMinute(async () => (await ports.busReader()).read(), clock);
  const followEvent = async (eventId: string) => (await ports.busReader()).follow(eventId);
  const pollIntervalMsOf = (accountId: string) =>
    (directory.get(accountId)?.settings.poll_interval_seconds ?? 0) * 1_000;
  return bridgeRoutes({
    ...parts.readers,
    ...alertStores(directory, { table, indexes, clock }, parts.noteUnreadable),
    accountAdmin: accountAdminOf(settings, ports, parts),
    auditOf: async (caller, accountId) =>
      sealedAudit(createAuditReader(table, indexes, accountId), cursorSealOf(caller, await pepper())),
    queues: { get: (accountId) => accounts.get(accountId)?.queue },
    bus,
    busName,
    readBus,
    followEvent,
    table,
    alertChannels: settings.alertChannels,
    hasOneAccount: () => directory.all().size === 1,
    patient,
    pollIntervalMsOf,
    pepper,
    queueKey,
    clock,
    wakes,
    telemetry,
    newId,
  });
}

function accountAdminOf(
  { rules }: ApiSettings,
  ports: ApiPorts,
  { directory, accounts, noteUnreadable }: Parts,
): AccountAdminDeps {
  const { table, partitions, clock } = ports;
  return {
    directory,
    store: createAccountStore(table, partitions, { ...ports, noteUnreadable }),
    rules,
    check: createAccountCheck({ ...ports, served: () => [...directory.all().values()] }),
    clock,
    hasRecords: async (accountId) => (await table.get(accountKey(accountId))) !== undefined,
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

/** What a person does on Slack or at PagerDuty is a call of a route like any other, which checks and audits it. */
function callerOfRoutes(serving: ServeDeps, routes: readonly Route[]): CallRoute {
  return async (routeId, { caller, ...request }) => {
    const route = routes.find(({ id }) => id === routeId);
    if (route === undefined) throw new Error(`There is no route ${routeId}`);
    return serveCaller(serving, route, { caller, raw: rawRequestOf(request) });
  };
}
