/** Serves Secrets Manager over the JSON protocol. */

import { z } from 'zod';
import type { LocalSecrets, SecretVersion } from './secrets.ts';
import { defineOperation, type Service } from './service.ts';

const token = z.string().optional();
const createInput = z.object({ Name: z.string(), SecretString: z.string(), ClientRequestToken: token });
const putInput = z.object({ SecretId: z.string(), SecretString: z.string(), ClientRequestToken: token });
const getInput = z.object({
  SecretId: z.string(),
  VersionStage: z.string().optional(),
  VersionId: z.string().optional(),
});

export function createSecretsManagerService(secrets: LocalSecrets): Service {
  return new Map([
    [
      'CreateSecret',
      defineOperation(createInput, ({ Name, SecretString, ClientRequestToken }) =>
        withoutValue(secrets.create(Name, SecretString, ClientRequestToken)),
      ),
    ],
    [
      'PutSecretValue',
      defineOperation(putInput, ({ SecretId, SecretString, ClientRequestToken }) =>
        withoutValue(secrets.put(SecretId, SecretString, ClientRequestToken)),
      ),
    ],
    [
      'GetSecretValue',
      defineOperation(getInput, ({ SecretId, VersionStage: stage, VersionId: versionId }) =>
        secrets.get(SecretId, { stage, versionId }),
      ),
    ],
  ]);
}

/** Returns the version without its value, with which only GetSecretValue may answer. */
function withoutValue({ SecretString: _value, ...version }: SecretVersion): object {
  return version;
}
