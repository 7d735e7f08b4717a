/** Reads the key of the upstream from the local AWS of a run, where the run has put it. */

import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createSecret, type Secret } from '../../../shared/runtime/secret.ts';
import { guarded } from './aws-error.ts';
import type { Finding } from './finding.ts';

/** Never rejects because of what it finds, and never shows the key. */
export function readKeyOfRun(
  secrets: Pick<SecretsManagerClient, 'send'>,
  secretId: string,
): Promise<Secret | Finding> {
  return guarded('upstream key', async () => {
    const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
    return createSecret(SecretString.trim());
  });
}
