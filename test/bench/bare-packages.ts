/** Loads the poller's packages and uses each one as little as possible, with none of our code. */

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';

export { handler } from './bare-sdk.ts';

const request = z.object({
  account_id: z.string().regex(/^[a-z]+$/),
  pages: z.array(z.number().int()).optional(),
});
const secrets = new SecretsManagerClient({});
const logger = new Logger({ serviceName: 'bare' });
const metrics = new Metrics({ namespace: 'Bare', serviceName: 'bare' });

export async function once(event: unknown): Promise<void> {
  const { account_id } = request.parse(event);
  await secrets.send(new GetSecretValueCommand({ SecretId: account_id }));
  logger.info('once');
  metrics.publishStoredMetrics();
}
