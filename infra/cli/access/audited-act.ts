/**
 * Does what needs credentials of AWS, and leaves a record of the audit that names the person or the role whose
 * credentials were used.
 */

import { randomUUID } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { type AuditIntent, createAuditLog } from '../../../shared/commands/audit.ts';
import { isoTimeOf } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Table } from '../../../shared/store/table.ts';

interface AuditedAct
  extends Pick<AuditIntent, 'account_id' | 'generation' | 'client_id' | 'call' | 'resource'> {
  readonly table: Table;
  readonly clock: Clock;
}

/**
 * Acts once the beginning of the record is written: without a record nothing is done. `act` resolves to whether anything
 * was done. A record whose act rejects stays without an outcome, because nobody knows what was done.
 */
export async function actAudited<Result>(
  { table, clock, ...about }: AuditedAct,
  act: () => Promise<Result>,
  isDone: (result: Result) => boolean = () => true,
): Promise<Result> {
  const audit = createAuditLog(table, clock);
  const startMs = clock.now();
  const received_at = isoTimeOf(startMs);
  const intent = { ...about, request_id: randomUUID(), project_id: undefined, received_at };
  await audit.begin(intent);
  const result = await act();
  const end = isDone(result)
    ? ({ outcome: 'done', status: 200 } as const)
    : ({ outcome: 'refused', status: 404 } as const);
  await audit.end(intent, { ...end, duration_ms: Math.max(0, clock.now() - startMs) });
  return result;
}

/** STS answers within a second or not at all. */
const ANSWER_MS_MAX = 5_000;

/**
 * Resolves to `aws:` and the ARN that STS says, or the id of the access key when STS cannot be asked; CloudTrail knows
 * whose key that is. The name has a colon, as no client of the bridge has. The settings are those of the table's client.
 */
export async function awsIdentity(settings: DynamoDBClientConfig): Promise<string> {
  // A client signs for one service, so this one, which signs the question, asks the table for nothing.
  const client = new DynamoDBClient(settings);
  try {
    const { accessKeyId } = await client.config.credentials();
    const { endpoint } = settings;
    const arn = await askSts(client, typeof endpoint === 'string' ? endpoint : undefined).catch(
      () => undefined,
    );
    return `aws:${arn ?? accessKeyId}`;
  } finally {
    client.destroy();
  }
}

async function askSts(client: DynamoDBClient, endpoint: string | undefined): Promise<string | undefined> {
  const region = await client.config.region();
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const url = new URL(endpoint ?? `https://sts.${region}.${domain}`);
  const signer = await client.config.signer({
    name: 'sigv4',
    signingName: 'sts',
    signingRegion: region,
    properties: {},
  });
  const body = 'Action=GetCallerIdentity&Version=2011-06-15';
  const request = {
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port !== '' && { port: Number(url.port) }),
    path: '/',
    query: {},
    headers: { host: url.host, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  };
  const signed = await signer.sign(request);
  const answer = await fetch(url, {
    method: 'POST',
    headers: signed.headers,
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  return /<Arn>([\w:/+=,.@-]{1,2048})<\/Arn>/.exec(await answer.text())?.[1];
}
