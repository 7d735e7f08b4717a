/**
 * Serves, in a process of its own, what a lane needs of the world: one simulated service for each account, all behind
 * one address, and the local AWS.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { getRequestListener } from '@hono/node-server';
import { startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import { createUpstreamService } from '../../../infra/simulator/start-upstream.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { createTable } from '../../local/aws/aws-under-test.ts';

const [accountCount = 100, projectCount = 10, sessionsPerHour = 1] = process.argv.slice(2).map(Number);

const services = new Map<string, ReturnType<typeof createUpstreamService>>(
  Array.from({ length: accountCount }, (_, index): [string, ReturnType<typeof createUpstreamService>] => {
    const key = `bench-key-${index}`;
    const service = createUpstreamService({
      seed: index + 1,
      projectCount,
      sessionsPerHour,
      apiKeys: [key],
    });
    return [`Bearer ${key}`, service];
  }),
);

let requestCount = 0;
let refusedCount = 0;
const listener = getRequestListener(
  async (request, env) => {
    requestCount += 1;
    const service = services.get(request.headers.get('authorization') ?? '');
    if (service === undefined) return new Response('{}', { status: 401 });
    const answer = await service.app.fetch(request, env);
    if (answer.status === 429) refusedCount += 1;
    return answer;
  },
  { overrideGlobalObjects: false },
);
const server = createServer((request, response) => void listener(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const aws = await startLocalAws();
aws.bus.createBus('lane-bench');
for (let index = 0; index < accountCount; index++) aws.secrets.create(`key-${index}`, `bench-key-${index}`);
const { endpoint, credentials } = aws;
const tables = new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
await createTable(tables, tableDefinition('lane-bench'));
tables.destroy();
process.on('message', () => {
  process.send?.({ requestCount, refusedCount, calls: Object.fromEntries(aws.counts) });
});
process.send?.({ port: (server.address() as AddressInfo).port, environment: aws.environment });
