/**
 * Builds the API from its environment, with the AWS clients behind its ports, and over any other ports. A start loads
 * the calls that are passed on; the bridge's own routes and the pages are loaded with the first request for them.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { Hono } from 'hono';
import { commandSettingsOf } from '../../shared/accounts/account.ts';
import {
  openAccountDirectory,
  type PerAccount,
  perAccount,
} from '../../shared/accounts/account-directory.ts';
import { createTokenReader } from '../../shared/callers/tokens.ts';
import { createAuditLog } from '../../shared/commands/audit.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { type SharedAccount, upstreamAccount } from '../../shared/commands/send-command.ts';
import {
  type ApiAccount,
  type ApiEnvironment,
  type ApiSettings,
  readApiSettings,
} from '../../shared/config/api-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { onDemand } from '../../shared/runtime/on-demand.ts';
import {
  createPowertoolsTelemetry,
  type FlushableTelemetry,
} from '../../shared/runtime/powertools-telemetry.ts';
import {
  accountKeys,
  createKeyingSecretSource,
  createSecretKeySource,
} from '../../shared/runtime/secret-key-source.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import type { Table } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import { createNudge, createReadingWishes, nudgingTable } from '../../shared/store/wishes.ts';
import { createPooledHttp, type ProxyEnv } from '../../shared/upstream/pooled-http.ts';
import { apiAccess } from './access.ts';
import type { ApiPorts, Directory, UpstreamAccount } from './api-ports.ts';
import { BRIDGE_MOUNT, checkExtraRoutes } from './bridge/bridge-route-ids.ts';
import type { BusReaderSettings } from './read-model/bus-reader.ts';
import { createAuthenticator } from './serving/admission.ts';
import { createApp } from './serving/app.ts';
import { createRefusalCounts } from './serving/request-audit.ts';
import type { Route } from './serving/route.ts';
import type { ServeDeps } from './serving/serve-route.ts';
import {
  createHeldPlaces,
  createPatientCallers,
  type HeldPlaces,
  type PatientCallers,
} from './serving/waiting.ts';
import { createAccountQueue } from './upstream/account-queue.ts';
import { passThroughRoutes, READ_SOCKETS_MAX } from './upstream/pass-through.ts';

interface ApiFunction extends Api {
  readonly telemetry: FlushableTelemetry;
}

interface ApiFunctionPorts extends Pick<ApiPorts, 'clock' | 'random' | 'newId'> {
  /** Requests to upstreams go through the proxy that these variables name. */
  readonly proxyEnv?: ProxyEnv | undefined;
  /** The front door's id of the request that the function serves at present, which its access log has, too. */
  readonly gatewayRequestId?: () => string | undefined;
}

/** Throws `AppError` `config_invalid` before anything is served. The error names what is wrong. */
export function createApiFunction(
  environment: ApiEnvironment,
  { proxyEnv, gatewayRequestId, ...ports }: ApiFunctionPorts,
): ApiFunction {
  const settings = readApiSettings(environment);
  const dynamoDb = new DynamoDBClient({});
  const { clock } = ports;
  const secretsManager = new SecretsManagerClient(CALLS_END);
  const powertools = createPowertoolsTelemetry({
    functionName: environment.POWERTOOLS_SERVICE_NAME,
    bridgeName: environment.TABLE_NAME,
  });
  const telemetry: FlushableTelemetry = {
    ...powertools,
    log: (level, event, fields) =>
      powertools.log(level, event, { ...fields, gateway_request_id: gatewayRequestId?.() }),
  };
  const keying = (secretId: string) => createKeyingSecretSource(secretsManager, secretId, clock, telemetry);
  const pepper = keying(environment.TOKEN_PEPPER_SECRET_ID);
  const queueKey = keying(environment.QUEUE_KEY_SECRET_ID);
  const signInSecretId = settings.signIn?.client_secret_id;
  const signInSecret =
    signInSecretId === undefined
      ? undefined
      : createSecretKeySource(secretsManager, signInSecretId, clock, telemetry);
  const channelSecret = (secretId: string | undefined) => {
    const source = secretId && createSecretKeySource(secretsManager, secretId, clock, telemetry);
    return source ? () => source.current() : undefined;
  };
  const table = createDynamoDbTable(dynamoDb, environment.TABLE_NAME, apiAccess, ports);
  const nudge = createNudge(table, clock);
  const keyOf = accountKeys((id) => createSecretKeySource(secretsManager, id, clock, telemetry), clock);
  const bus = onDemand(async () =>
    (await commandPorts()).createCommandBus(environment.EVENT_BUS_NAME, clock),
  );
  const wakes = onDemand(async () =>
    (await commandPorts()).createCommandWakes(environment.COMMANDS_QUEUE_URL),
  );
  const api = createApi(settings, {
    ...ports,
    instancesMax: environment.SENDING_INSTANCES_MAX,
    table: nudgingTable(table, nudge, telemetry),
    indexes: createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
    partitions: createDynamoDbPartitions(dynamoDb, environment.TABLE_NAME, apiAccess),
    busName: environment.EVENT_BUS_NAME,
    bus: { publish: async (events) => (await bus()).publish(events) },
    keyOf: ({ key_secret_id, account_id }) => keyOf(key_secret_id, account_id),
    pepper: () => pepper.current(),
    queueKey: () => queueKey.current(),
    slackSecret: channelSecret(environment.SLACK_SECRET_ID),
    pagerDutySecret: channelSecret(environment.PAGERDUTY_SECRET_ID),
    signInSecret: signInSecret && (() => signInSecret.current()),
    busReader: async () =>
      (await import('./read-model/bus-reader.ts')).createBusReader(
        busReaderSettings(environment, settings, clock),
      ),
    wakes: { send: async (sent) => (await wakes()).send(sent) },
    telemetry,
    sendRead: createPooledHttp(READ_SOCKETS_MAX, { proxyEnv }).sendRead,
  });
  return { ...api, telemetry };
}

/** The self-test tries the calls with the same settings. */
export function busReaderSettings(
  environment: ApiEnvironment,
  { deadLetterQueues, hasBusLog }: ApiSettings,
  clock: Clock,
): BusReaderSettings {
  const { EVENT_BUS_NAME: busName, COMMANDS_QUEUE_URL: queueUrl } = environment;
  // The bridge's own rules have this queue of undelivered events.
  const own = `arn:*:sqs:*:${busName}-undelivered`;
  return { busName, deadLetterQueues: [own, ...deadLetterQueues], queueUrl, hasLog: hasBusLog, clock };
}

function commandPorts() {
  return import('./command-ports.ts');
}

interface Api {
  readonly app: Hono;
  /** Resolves to all routes: the calls that are passed on, the bridge's own, and those of the documentation. */
  readonly routes: () => Promise<readonly Route[]>;
  readonly serving: ServeDeps;
}

const CONSOLE_MOUNT = '/console';

/** Returns the API on these ports. Throws when two routes collide. */
export function createApi(settings: ApiSettings, ports: ApiPorts): Api {
  checkExtraRoutes(settings.extraRoutes);
  const noteUnreadable = createUnreadableNotes(ports.telemetry);
  const merge = { rules: settings.rules, settingsOf: commandSettingsOf };
  const directory = openAccountDirectory(settings.accounts, merge, ports);
  const accounts = servedAccounts(directory, ports, noteUnreadable);
  const patient = createPatientCallers(placesOf(directory, ports.table, ports.clock), ports.telemetry);
  const passedOn = { directory, accounts, patient, noteUnreadable };
  const routes = createPassThrough(settings, ports, passedOn);
  const serving = createServing(settings, ports, passedOn);
  // A cold start that passes a call on loads neither the bridge's own routes nor the console, which are a third of the code.
  const bridge = onDemand(async () => {
    const { createBridgeApi } = await import('./create-bridge-api.ts');
    return createBridgeApi(settings, ports, { ...passedOn, serving, passedOn: routes });
  });
  const loadPages = async () => {
    const [{ createPages }, { readers, routes: all }] = await Promise.all([
      import('./create-console.ts'),
      bridge(),
    ]);
    const pages = createPages(ports, settings, {
      directory,
      readers,
      serving,
      routes: all,
      noteUnreadable,
    });
    return new Hono().route(CONSOLE_MOUNT, pages);
  };
  const app = createApp({
    ...serving,
    routes,
    apps: [
      { path: CONSOLE_MOUNT, load: loadPages },
      { path: BRIDGE_MOUNT, load: async () => (await bridge()).app },
    ],
  });
  return { app, routes: async () => (await bridge()).routes, serving };
}

function createPassThrough(
  { extraRoutes, openCalls, takesCallbacks, signIn }: ApiSettings,
  { table, pepper, queueKey, telemetry, clock, wakes }: ApiPorts,
  {
    directory,
    noteUnreadable,
    ...parts
  }: {
    readonly directory: Directory;
    readonly accounts: PerAccount<UpstreamAccount>;
    readonly patient: PatientCallers;
    readonly noteUnreadable: NoteUnreadable;
  },
): readonly Route[] {
  const idempotency = createIdempotencyStore(table, clock, noteUnreadable);
  const further = {
    standingOf: (accountId: string) => directory.get(accountId),
    consoleBaseUrl: signIn?.base_url,
    takesCallbacks,
    idempotency,
  };
  return passThroughRoutes(
    { ...parts, ...further, pepper, queueKey, telemetry, clock, wakes },
    { extraRoutes, openCalls },
  );
}

/** Adds to each account what only the API needs of it. */
function servedAccounts(
  directory: Directory,
  ports: ApiPorts,
  noteUnreadable: NoteUnreadable,
): PerAccount<SharedAccount & UpstreamAccount> {
  const { table, clock, telemetry, newId } = ports;
  const create = (settings: ApiAccount) => {
    const { account_id, poll_interval_seconds } = settings;
    const account = upstreamAccount(settings, ports, noteUnreadable);
    const queue = createAccountQueue(table, settings, {
      clock,
      noteUnreadable,
      newId,
      telemetry,
      upstream: account.upstream,
      admit: (clientId) => account.fairShare.admit(clientId),
    });
    const wishes = createReadingWishes(table, account_id, clock);
    const wishForReading = (project_id: string) =>
      wishes.wishForReading(project_id, poll_interval_seconds * 1_000).catch((error: unknown) => {
        telemetry.log('warn', 'wish.not_stored', { account_id, project_id, reason: toError(error).name });
      });
    return { ...account, queue, wishForReading };
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
    readonly patient: PatientCallers;
    readonly noteUnreadable: NoteUnreadable;
  },
): ServeDeps {
  const tokens = createTokenReader(table, parts.noteUnreadable);
  const audit = createAuditLog(table, clock);
  const standingOf = (accountId: string) => parts.directory.get(accountId);
  const generationOf = (accountId: string) => parts.directory.get(accountId)?.generation;
  const verifier =
    oidc && onDemand(async () => (await import('./serving/verify-jwt.ts')).createJwtVerifier(oidc, clock));
  const verifyJwt = verifier && (async (token: string) => (await verifier())(token));
  return {
    authenticator: createAuthenticator({ tokens, pepper, verifyJwt, generationOf, clock }),
    standingOf,
    refreshAccounts: () => parts.directory.refresh(),
    patient: parts.patient,
    fairShares: { get: (accountId) => parts.accounts.get(accountId)?.fairShare },
    audit,
    refusals: createRefusalCounts({ audit, clock, telemetry }, newId),
    clock,
    telemetry,
    newId,
  };
}
