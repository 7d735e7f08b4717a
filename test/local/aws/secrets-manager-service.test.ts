import {
  CreateSecretCommand,
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  PutSecretValueCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from 'vitest';
import { openAws } from './aws-under-test.ts';

async function openSecrets() {
  const { aws, secrets } = await openAws();
  return {
    aws,
    create: (Name: string, SecretString: string, ClientRequestToken?: string) =>
      secrets.send(new CreateSecretCommand({ Name, SecretString, ClientRequestToken })),
    put: (SecretId: string, SecretString: string, ClientRequestToken?: string) =>
      secrets.send(new PutSecretValueCommand({ SecretId, SecretString, ClientRequestToken })),
    get: (SecretId: string, choice: Partial<GetSecretValueCommandInput> = {}) =>
      secrets.send(new GetSecretValueCommand({ SecretId, ...choice })),
  };
}

const TOKEN = 'a'.repeat(32);

describe('the local Secrets Manager, through the real client', () => {
  test('returns the value by name, by ARN, and by ARN without its suffix', async () => {
    const { create, get } = await openSecrets();
    const { ARN = '' } = await create('folder/key', 'value');

    expect(ARN).toMatch(/^arn:aws:secretsmanager:us-east-1:000000000000:secret:folder\/key-[a-zA-Z0-9]{6}$/);
    for (const id of ['folder/key', ARN, ARN.slice(0, -7)]) {
      expect(await get(id)).toMatchObject({ ARN, Name: 'folder/key', SecretString: 'value' });
    }
  });

  test('gives the previous value the stage AWSPREVIOUS, and older values no stage', async () => {
    const { create, put, get } = await openSecrets();
    const { VersionId } = await create('key', 'first');
    await put('key', 'second');
    expect((await get('key', { VersionStage: 'AWSPREVIOUS' })).SecretString).toBe('first');
    await put('key', 'third');

    expect((await get('key')).SecretString).toBe('third');
    expect((await get('key', { VersionStage: 'AWSPREVIOUS' })).SecretString).toBe('second');
    expect(await get('key', { VersionId })).toMatchObject({ SecretString: 'first', VersionStages: [] });
  });

  test('rotates once for a put that is repeated with the same token', async () => {
    const { create, put, get } = await openSecrets();
    await create('key', 'first');
    await put('key', 'second', TOKEN);
    await put('key', 'second', TOKEN);

    expect(await get('key')).toMatchObject({ SecretString: 'second', VersionId: TOKEN });
    expect((await get('key', { VersionStage: 'AWSPREVIOUS' })).SecretString).toBe('first');
    await expect(put('key', 'third', TOKEN)).rejects.toMatchObject({ name: 'ResourceExistsException' });
  });

  test('refuses to create a secret that exists, unless the call is a repetition', async () => {
    const { create } = await openSecrets();
    const { ARN } = await create('key', 'value', TOKEN);

    expect((await create('key', 'value', TOKEN)).ARN).toBe(ARN);
    await expect(create('key', 'value')).rejects.toMatchObject({ name: 'ResourceExistsException' });
  });

  test('answers ResourceNotFoundException for a secret or a stage that does not exist', async () => {
    const { create, put, get } = await openSecrets();
    await create('key', 'value');
    const notFound = { name: 'ResourceNotFoundException' };

    await expect(get('none')).rejects.toMatchObject(notFound);
    await expect(put('none', 'x')).rejects.toMatchObject(notFound);
    await expect(get('key', { VersionStage: 'AWSPREVIOUS' })).rejects.toMatchObject(notFound);
  });

  test('returns values that the process itself stored', async () => {
    const { aws, get } = await openSecrets();
    aws.secrets.create('key', 'first');
    aws.secrets.put('key', 'second');

    expect((await get('key')).SecretString).toBe('second');
    expect(aws.secrets.get('key').SecretString).toBe('second');
  });
});
