/** A local Secrets Manager: the current and the previous version of each secret, in memory only. */

export interface SecretValue {
  readonly ARN: string;
  readonly Name: string;
  readonly VersionId: string;
  readonly SecretString: string;
  readonly VersionStages: readonly string[];
}

export interface LocalSecrets {
  create(name: string, value: string): Pick<SecretValue, 'ARN' | 'Name' | 'VersionId'>;
  /** Rotates: the value before becomes AWSPREVIOUS. Creates the secret when there is none. */
  put(id: string, value: string): Pick<SecretValue, 'ARN' | 'Name' | 'VersionId'>;
  get(id: string, stage: string): SecretValue | undefined;
}

export function createLocalSecrets(newId: () => string): LocalSecrets {
  const secrets = new Map<string, readonly SecretValue[]>();
  const nameOf = (id: string) => id.replace(/^arn:aws:secretsmanager:[^:]*:\d*:secret:/, '');

  const put = (id: string, value: string) => {
    const name = nameOf(id);
    const arn = `arn:aws:secretsmanager:us-east-1:000000000000:secret:${name}`;
    const [current] = secrets.get(name) ?? [];
    const next = {
      ARN: arn,
      Name: name,
      VersionId: newId(),
      SecretString: value,
      VersionStages: ['AWSCURRENT'],
    };
    secrets.set(
      name,
      current === undefined ? [next] : [next, { ...current, VersionStages: ['AWSPREVIOUS'] }],
    );
    return { ARN: arn, Name: name, VersionId: next.VersionId };
  };

  return {
    create: put,
    put,
    get: (id, stage) => secrets.get(nameOf(id))?.find(({ VersionStages }) => VersionStages.includes(stage)),
  };
}
