/** Runs the function of the API on virtual time, with the real clients of AWS, in front of a scripted AWS. */

import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createApiFunction } from '../../../functions/api/create-handler.ts';
import { issueDevelopmentToken } from '../../../infra/local/local-api.ts';
import { apiEnvironment } from '../../../shared/config/api-config.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createDynamoDbTable } from '../../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';
import { openScriptedAws, type ScriptedAws } from '../scripted-aws.ts';
import { startVirtualTime, type VirtualTime } from '../virtual-time.ts';

const TABLE_NAME = 'api-door';
const PEPPER = 'api-door-canary-pepper-of-no-word-list';
const QUEUE_KEY = 'api-door-canary-key-of-the-queue-and-its-seals';
const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

export type SendRequest = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly body: unknown }>;

export interface ApiOnAws extends ScriptedAws {
  readonly time: VirtualTime;
  /** Sends a request with a valid token. */
  readonly request: SendRequest;
  readonly token: string;
  /** Sends what a browser sends. */
  readonly browse: (path: string, init?: RequestInit) => Promise<Response>;
}

export async function startApi(seed: number, { pepper = PEPPER } = {}): Promise<ApiOnAws> {
  const hooks: { time?: VirtualTime } = {};
  const scripted = await openScriptedAws(() => hooks.time?.hold() ?? (() => {}));
  const tables = new DynamoDBClient({});
  await createTable(tables, tableDefinition(TABLE_NAME));
  tables.destroy();
  scripted.aws.secrets.create('upstream-key/main', 'api-door-canary-key');
  const time = startVirtualTime(START_MS);
  hooks.time = time;
  const served = await open(scripted, time, { tableName: TABLE_NAME, busName: 'api-door', seed, pepper });
  return Object.assign(scripted, { time, ...served });
}

interface Place {
  readonly tableName: string;
  readonly busName: string;
  readonly seed: number;
}

/** Serves the API for the account `main` on a table that exists. */
export async function serveApi(scripted: ScriptedAws, time: VirtualTime, place: Place): Promise<SendRequest> {
  return (await open(scripted, time, { ...place, pepper: PEPPER })).request;
}

async function open(
  { aws }: ScriptedAws,
  time: VirtualTime,
  { tableName, busName, seed, pepper }: Place & { readonly pepper: string },
): Promise<Pick<ApiOnAws, 'request' | 'token' | 'browse'>> {
  aws.secrets.create('pepper', pepper);
  aws.secrets.create('queue-key', QUEUE_KEY);
  const table = createDynamoDbTable(new DynamoDBClient({}), tableName);
  const issued = issueDevelopmentToken(table, { accountId: 'main', pepper, clock: systemClock });
  const token = await time.run(issued);
  const environment = apiEnvironment.parse({
    TABLE_NAME: tableName,
    EVENT_BUS_NAME: busName,
    ACCOUNTS: JSON.stringify([
      {
        account_id: 'main',
        upstream_base_url: 'https://upstream.example.com/api/v2',
        key_secret_id: 'upstream-key/main',
      },
    ]),
    ALERT_CHANNELS: '[]',
    TOKEN_PEPPER_SECRET_ID: 'pepper',
    QUEUE_KEY_SECRET_ID: 'queue-key',
    SENDING_INSTANCES_MAX: '2',
    COMMANDS_QUEUE_URL: `${aws.endpoint}/000000000000/commands.fifo`,
    LOG_LEVEL: 'SILENT',
  });
  const api = createApiFunction(environment, {
    clock: systemClock,
    random: seededRandom(seed),
    newId: randomUUID,
  });
  const browse = (path: string, init?: RequestInit) => time.run(Promise.resolve(api.app.request(path, init)));
  const request: SendRequest = async (method, path, body) => {
    const answer = await browse(path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };
  return { request, token, browse };
}
