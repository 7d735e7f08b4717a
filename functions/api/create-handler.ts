/** Builds the API from its environment, with the AWS clients behind its ports. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { accountKeys } from '../../shared/accounts/account-keys.ts';
import { type ApiEnvironment, type ApiSettings, readApiSettings } from '../../shared/config/api-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { onDemand } from '../../shared/runtime/on-demand.ts';
import {
  createPowertoolsTelemetry,
  type FlushableTelemetry,
} from '../../shared/runtime/powertools-telemetry.ts';
import { createKeyingSecretSource, createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import {
  createDynamoDbIndexes,
  createDynamoDbPartitions,
  createDynamoDbTable,
} from '../../shared/store/dynamodb-table.ts';
import { createNudge, nudgingTable } from '../../shared/store/wishes.ts';
import { createPooledHttp, type ProxyEnv } from '../../shared/upstream/pooled-http.ts';
import { apiAccess } from './access.ts';
import type { ApiPorts } from './api-ports.ts';
import { type Api, createApi } from './create-api.ts';
import type { BusReaderSettings } from './read-model/bus-reader.ts';
import { READ_SOCKETS_MAX } from './upstream/pass-through.ts';

export interface ApiFunction extends Api {
  readonly telemetry: FlushableTelemetry;
}

export interface ApiFunctionPorts extends Pick<ApiPorts, 'clock' | 'random' | 'newId'> {
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
