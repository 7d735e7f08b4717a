import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import {
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { ListEventBusesCommand, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type LocalAwsFaults, startLocalAws } from '../../../infra/local/aws/local-aws.ts';
import type { LocalAwsCall } from '../../../infra/local/aws/protocol.ts';
import { tableDefinition } from '../../../shared/store/table.ts';
import { anEntry, collect, createTable, openAws } from './aws-under-test.ts';

const portOf = ({ endpoint }: { readonly endpoint: string }) => Number(new URL(endpoint).port);

/** Resolves with the error code of the failure, or with `connected`. */
const tryToConnect = (port: number, host: string) =>
  new Promise<string>((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve('connected');
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });

const signed = (service: string) =>
  `AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=x`;

const post = (endpoint: string, options: { service?: string; target?: string; body?: string }) =>
  fetch(endpoint, {
    method: 'POST',
    headers: {
      ...(options.service !== undefined && { authorization: signed(options.service) }),
      ...(options.target !== undefined && { 'x-amz-target': options.target }),
      'content-type': 'application/x-amz-json-1.1',
    },
    body: options.body ?? '{}',
  });

describe('the server', () => {
  test('serves an SDK client that is configured only by its environment variables', async () => {
    const { aws } = await openAws();
    const before = { ...process.env };
    Object.assign(process.env, aws.environment);
    onTestFinished(() => {
      for (const name of Object.keys(aws.environment)) delete process.env[name];
      Object.assign(process.env, before);
    });
    const client = new DynamoDBClient({});
    onTestFinished(() => client.destroy());

    expect((await client.send(new ListTablesCommand({}))).TableNames).toEqual([]);
  });

  test('does not change the environment of its own process', async () => {
    const before = { ...process.env };
    await openAws();

    expect({ ...process.env }).toEqual(before);
  });

  test('refuses to start on a port that is in use', async () => {
    const { aws } = await openAws();

    await expect(startLocalAws({ port: portOf(aws) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  test('listens only on 127.0.0.1', async () => {
    const { aws } = await openAws();
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ address, scopeid }) => address !== '127.0.0.1' && !scopeid)
      .map(({ address }) => address);

    expect(await tryToConnect(portOf(aws), '127.0.0.1')).toBe('connected');
    for (const address of [...others, '127.0.0.2']) {
      expect(await tryToConnect(portOf(aws), address), address).not.toBe('connected');
    }
  });

  test('frees its port when it closes, even when clients keep connections open', async () => {
    const aws = await startLocalAws();
    const client = new DynamoDBClient({
      endpoint: aws.endpoint,
      region: 'us-east-1',
      credentials: aws.credentials,
    });
    onTestFinished(() => client.destroy());
    await client.send(new ListTablesCommand({}));
    await aws.close();

    expect(await tryToConnect(portOf(aws), '127.0.0.1')).toBe('ECONNREFUSED');
    const second = await openAws({ port: portOf(aws) });
    expect(portOf(second.aws)).toBe(portOf(aws));
  });

  test('answers calls that arrived before it closed', async () => {
    const { promise: allArrived, resolve } = Promise.withResolvers<void>();
    let arrivedCount = 0;
    const beforeCall = ({ operation }: LocalAwsCall) => {
      if (operation === 'PutItem' && ++arrivedCount === 20) resolve();
      return undefined;
    };
    const { aws, tables } = await openAws({ faults: { beforeCall } });
    await createTable(tables, tableDefinition('closing'));
    const calls = Array.from({ length: 20 }, (_, index) => {
      const Item = { pk: { S: 'p' }, sk: { S: String(index) } };
      return tables.send(new PutItemCommand({ TableName: 'closing', Item }));
    });
    await allArrived;
    const closed = aws.close();

    await expect(Promise.all(calls)).resolves.toHaveLength(20);
    await closed;
  });

  test('can be closed twice', async () => {
    const { aws } = await openAws();
    await aws.close();

    await expect(aws.close()).resolves.toBeUndefined();
  });

  test('survives a client that disconnects in the middle of its request', async () => {
    const { aws, tables } = await openAws({ accessKeyId: 'local' });
    for (const service of ['dynamodb', 'events']) {
      await new Promise<void>((resolve) => {
        const socket = connect(portOf(aws), '127.0.0.1', () => {
          const head = `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99\r\nauthorization: ${signed(service)}\r\n`;
          socket.write(`${head}x-amz-target: AWSEvents.PutEvents\r\n\r\n{"half`, () => {
            setTimeout(() => socket.resetAndDestroy(), 20);
          });
        });
        socket.on('close', () => setTimeout(resolve, 20));
      });
    }

    expect((await tables.send(new ListTablesCommand({}))).TableNames).toEqual([]);
  });

  test('counts calls by the name of their IAM action', async () => {
    const { aws, tables, events } = await openAws();
    await tables.send(new ListTablesCommand({}));
    await tables.send(new ListTablesCommand({}));
    await events.send(new PutEventsCommand({ Entries: [anEntry()] }));

    expect(Object.fromEntries(aws.counts)).toEqual({ 'dynamodb:ListTables': 2, 'events:PutEvents': 1 });
  });
});

describe('an unusable call of the local AWS', () => {
  test.each([
    ['an unknown service', { service: 'kinesis', target: 'Kinesis_20131202.PutRecord' }],
    ['an unknown operation', { service: 'events', target: 'AWSEvents.PutPartnerEvents' }],
    ['no operation', { service: 'events' }],
    ['a service named as a property of every object', { service: 'constructor', target: 'x.keys' }],
    [
      'an operation named as a property of every object',
      { service: 'events', target: 'AWSEvents.constructor' },
    ],
  ])('with %s is answered with UnknownOperationException', async (_what, call) => {
    const { aws } = await openAws({ accessKeyId: 'local' });
    const answer = await post(aws.endpoint, call);

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ __type: 'UnknownOperationException' });
  });

  test('without a signature is refused with 403', async () => {
    const { aws } = await openAws();
    const answer = await post(aws.endpoint, {});

    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ __type: 'UnrecognizedClientException' });
  });

  test('to an operation that is not implemented is an UnknownOperationException in the SDK', async () => {
    const { events, tables } = await openAws();
    const transaction = new TransactWriteItemsCommand({ TransactItems: [] });

    await expect(events.send(new ListEventBusesCommand({}))).rejects.toMatchObject({
      name: 'UnknownOperationException',
    });
    await expect(tables.send(transaction)).rejects.toMatchObject({ name: 'UnknownOperationException' });
  });

  test.each([
    ['no JSON', 'no json'],
    ['no entries', '{}'],
    ['an entry that is null', '{"Entries":[null]}'],
    ['a source that is a number', '{"Entries":[{"Source":1}]}'],
    ['a time that no date can be', '{"Entries":[{"Time":1e300}]}'],
  ])('whose body has %s is answered with SerializationException', async (_what, body) => {
    const { aws } = await openAws({ accessKeyId: 'local' });
    const answer = await post(aws.endpoint, { service: 'events', target: 'AWSEvents.PutEvents', body });

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ __type: 'SerializationException' });
  });
});

describe('faults', () => {
  const refusing = (service: string, type: string, status?: number): LocalAwsFaults => ({
    beforeCall: (call) =>
      call.service === service ? { type, message: 'slow down', ...(status && { status }) } : undefined,
  });

  test('make DynamoDB refuse a call, and its work is not done', async () => {
    let isRefusing = false;
    const fault = { type: 'ProvisionedThroughputExceededException', message: 'slow down' };
    const { tables } = await openAws({ faults: { beforeCall: () => (isRefusing ? fault : undefined) } });
    await createTable(tables, tableDefinition('table'));
    const Key = { pk: { S: 'p' }, sk: { S: 's' } };
    isRefusing = true;
    await expect(tables.send(new PutItemCommand({ TableName: 'table', Item: Key }))).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
      message: 'slow down',
      $metadata: { httpStatusCode: 400 },
    });
    isRefusing = false;

    expect((await tables.send(new GetItemCommand({ TableName: 'table', Key }))).Item).toBeUndefined();
  });

  test('make EventBridge refuse a call, and other services continue', async () => {
    const { aws, events, tables } = await openAws({ faults: refusing('events', 'ThrottlingException') });
    const delivered = collect(aws, { source: ['test'] });
    const put = events.send(new PutEventsCommand({ Entries: [anEntry()] }));

    await expect(put).rejects.toMatchObject({ name: 'ThrottlingException' });
    await expect(tables.send(new ListTablesCommand({}))).resolves.toBeDefined();
    await aws.bus.idle();
    expect(delivered).toEqual([]);
  });

  test('set the status of a refusal', async () => {
    const { tables } = await openAws({ faults: refusing('dynamodb', 'InternalServerError', 503) });

    await expect(tables.send(new ListTablesCommand({}))).rejects.toMatchObject({
      name: 'InternalServerError',
      $metadata: { httpStatusCode: 503 },
    });
  });

  test('that throw are answered with InternalFailure, and the server continues', async () => {
    let isBroken = true;
    const { tables } = await openAws({
      faults: {
        beforeCall: () => {
          if (isBroken) throw new Error('broken fault');
          return undefined;
        },
      },
    });

    await expect(tables.send(new ListTablesCommand({}))).rejects.toMatchObject({ name: 'InternalFailure' });
    isBroken = false;
    await expect(tables.send(new ListTablesCommand({}))).resolves.toBeDefined();
  });

  test('can lose a reply after the work is done, for each service', async () => {
    let isLosing = false;
    const { aws, tables, events, secrets } = await openAws({ faults: { losesReply: () => isLosing } });
    const delivered = collect(aws, { source: ['test'] });
    aws.secrets.create('key', 'first');
    await createTable(tables, tableDefinition('table'));
    const Key = { pk: { S: 'p' }, sk: { S: 's' } };
    isLosing = true;
    await expect(tables.send(new PutItemCommand({ TableName: 'table', Item: Key }))).rejects.toThrow();
    await expect(events.send(new PutEventsCommand({ Entries: [anEntry()] }))).rejects.toThrow();
    const rotation = new PutSecretValueCommand({ SecretId: 'key', SecretString: 'second' });
    await expect(secrets.send(rotation)).rejects.toThrow();
    isLosing = false;
    await aws.bus.idle();

    expect((await tables.send(new GetItemCommand({ TableName: 'table', Key }))).Item).toEqual(Key);
    expect(delivered).toHaveLength(1);
    expect((await secrets.send(new GetSecretValueCommand({ SecretId: 'key' }))).SecretString).toBe('second');
  });

  test('can fail single entries of PutEvents, and the other entries arrive', async () => {
    const failEntry: LocalAwsFaults['failEntry'] = (_entry, index) =>
      ['InternalFailure', undefined, 'ThrottlingException'][index];
    const { aws, events } = await openAws({ faults: { failEntry } });
    const delivered = collect(aws, { source: ['test'] });
    const answer = await events.send(new PutEventsCommand({ Entries: [anEntry(), anEntry(), anEntry()] }));
    await aws.bus.idle();

    expect(answer.FailedEntryCount).toBe(2);
    expect(answer.Entries?.map(({ ErrorCode }) => ErrorCode)).toEqual([
      'InternalFailure',
      undefined,
      'ThrottlingException',
    ]);
    expect(delivered.map(({ id }) => id)).toEqual([answer.Entries?.[1]?.EventId]);
  });
});
