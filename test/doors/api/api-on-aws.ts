/** Runs the function of the API on virtual time, with the real clients of AWS, in front of a scripted AWS. */

import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createApiFunction } from '../../../functions/api/create-handler.ts';
import { issueDevelopmentToken } from '../../../infra/local/lambda/local-api.ts';
import { apiEnvironment } from '../../../shared/config/api-config.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createDynamoDbTable } from '../../../shared/store/dynamodb/dynamodb-table.ts';
import { tableDefinition } from '../../../shared/store/dynamodb/table-definition.ts';
import type { Table } from '../../../shared/store/table.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';
import { openScriptedAws, type ScriptedAws } from '../scripted-aws.ts';
import { startVirtualTime, type VirtualTime } from '../virtual-time.ts';

const TABLE_NAME = 'api-door';
export const BUS_NAME = 'api-door';
const PEPPER = 'api-door-canary-pepper';
export const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

export interface ApiOnAws extends ScriptedAws {
  readonly time: VirtualTime;
  readonly table: Table;
  /** Sends a request with a valid token. */
  request(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
}

export async function startApi(seed: number): Promise<ApiOnAws> {
  const hooks: { time?: VirtualTime } = {};
  const scripted = await openScriptedAws(() => hooks.time?.hold() ?? (() => {}));
  const { aws } = scripted;
  const tables = new DynamoDBClient({});
  await createTable(tables, tableDefinition(TABLE_NAME));
  const table = createDynamoDbTable(tables, TABLE_NAME);
  aws.bus.createBus(BUS_NAME);
  aws.secrets.create('pepper', PEPPER);
  aws.secrets.create('upstream-key/main', 'api-door-canary-key');
  const time = startVirtualTime(START_MS);
  hooks.time = time;
  const issued = issueDevelopmentToken(table, { accountId: 'main', pepper: PEPPER, clock: systemClock });
  const token = await time.run(issued);
  const environment = apiEnvironment.parse({
    TABLE_NAME,
    EVENT_BUS_NAME: BUS_NAME,
    ACCOUNTS: JSON.stringify([
      {
        account_id: 'main',
        upstream_base_url: 'https://upstream.example.com/api/v2',
        key_secret_id: 'upstream-key/main',
      },
    ]),
    ALERT_CHANNELS: '[]',
    TOKEN_PEPPER_SECRET_ID: 'pepper',
    COMMANDS_QUEUE_URL: `${aws.endpoint}/000000000000/commands.fifo`,
    LOG_LEVEL: 'SILENT',
  });
  const api = createApiFunction(environment, {
    clock: systemClock,
    random: seededRandom(seed),
    newId: randomUUID,
  });
  return Object.assign(scripted, {
    time,
    table,
    async request(method: string, path: string, body?: object) {
      const asked = api.app.request(path, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = await time.run(Promise.resolve(asked));
      return { status: answer.status, body: await answer.json() };
    },
  });
}
