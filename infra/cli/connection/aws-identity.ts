/** Names the person or the role whose credentials of AWS a command uses, for the audit. */

import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

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
