/**
 * Runs a local Secrets Manager with every version of each secret, in memory only, and serves it over the JSON
 * protocol.
 */

import { z } from 'zod';
import { defineOperation, type Service, ServiceError } from './protocol.ts';

interface SecretVersion {
  readonly ARN: string;
  readonly Name: string;
  readonly VersionId: string;
  readonly SecretString: string;
  /** The stage is AWSCURRENT or AWSPREVIOUS. Older versions have none. */
  readonly VersionStages: readonly string[];
}

/** Every method throws a `ServiceError` where AWS answers with an exception. An id is a name or an ARN. */
export interface LocalSecrets {
  /** A token makes the call repeatable: a second call with the same token and value changes nothing. */
  create(name: string, value: string, token?: string): SecretVersion;
  /** Rotates the secret. The value before becomes AWSPREVIOUS. */
  put(id: string, value: string, token?: string): SecretVersion;
  get(id: string, choice?: SecretChoice): SecretVersion;
}

interface SecretChoice {
  readonly stage?: string | undefined;
  readonly versionId?: string | undefined;
}

interface Secret {
  readonly arn: string;
  /** The newest version comes first. */
  readonly versions: readonly SecretVersion[];
}

export function createLocalSecrets(newId: () => string): LocalSecrets {
  const secrets = new Map<string, Secret>();

  return {
    create(name, value, token = newId()) {
      const known = secrets.get(name);
      if (known !== undefined) {
        const repeated = repeatedVersion(known, value, token);
        if (repeated !== undefined) return repeated;
        throw new ServiceError('ResourceExistsException', `The secret ${name} already exists.`);
      }
      return addVersion({ name, arn: arnOf(name, newId()), versions: [] }, value, token);
    },

    put(id, value, token = newId()) {
      const { name, secret } = find(id);
      return repeatedVersion(secret, value, token) ?? addVersion({ name, ...secret }, value, token);
    },

    get: (id, choice = {}) => chosenVersion(find(id).secret, choice),
  };

  function find(id: string): { readonly name: string; readonly secret: Secret } {
    for (const [name, secret] of secrets) {
      // A secret is also found by its ARN without the suffix (User Guide, "Troubleshooting", partial ARNs).
      if ([name, secret.arn, secret.arn.slice(0, -SUFFIX_LENGTH - 1)].includes(id)) return { name, secret };
    }
    throw notFound("Secrets Manager can't find the specified secret.");
  }

  function addVersion(secret: Secret & { name: string }, value: string, token: string): SecretVersion {
    const { name, arn, versions } = secret;
    const current = { ARN: arn, Name: name, VersionId: token, SecretString: value };
    const next = { ...current, VersionStages: ['AWSCURRENT'] };
    const older = versions.map((version, index) => ({
      ...version,
      VersionStages: index === 0 ? ['AWSPREVIOUS'] : [],
    }));
    secrets.set(name, { arn, versions: [next, ...older] });
    return next;
  }
}

function chosenVersion({ versions }: Secret, { stage, versionId }: SecretChoice): SecretVersion {
  const wantedStage = stage ?? (versionId === undefined ? 'AWSCURRENT' : undefined);
  const version = versions.find(
    ({ VersionId, VersionStages }) =>
      (versionId === undefined || versionId === VersionId) &&
      (wantedStage === undefined || VersionStages.includes(wantedStage)),
  );
  if (version !== undefined) return version;
  const sought = wantedStage === undefined ? `VersionId: ${versionId}` : `staging label: ${wantedStage}`;
  throw notFound(`Secrets Manager can't find the specified secret value for ${sought}`);
}

/**
 * Returns the version that an earlier call with this token made. The ClientRequestToken becomes the VersionId, which
 * makes a repetition harmless (API Reference, PutSecretValue).
 */
function repeatedVersion(secret: Secret, value: string, token: string): SecretVersion | undefined {
  const known = secret.versions.find(({ VersionId }) => VersionId === token);
  if (known === undefined || known.SecretString === value) return known;
  throw new ServiceError('ResourceExistsException', `A version ${token} with another value already exists.`);
}

/** AWS ends each ARN with a hyphen and six random characters, so an ARN is not simply a prefix and the name. */
const SUFFIX_LENGTH = 6;

function arnOf(name: string, id: string): string {
  const suffix = id
    .replaceAll(/[^a-zA-Z0-9]/g, '')
    .slice(-SUFFIX_LENGTH)
    .padStart(SUFFIX_LENGTH, '0');
  return `arn:aws:secretsmanager:us-east-1:000000000000:secret:${name}-${suffix}`;
}

function notFound(message: string): ServiceError {
  return new ServiceError('ResourceNotFoundException', message);
}

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
