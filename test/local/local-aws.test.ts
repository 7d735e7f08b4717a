import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DescribeEventBusCommand,
  EventBridgeClient,
  PutEventsCommand,
  PutRuleCommand,
  TestEventPatternCommand,
} from '@aws-sdk/client-eventbridge';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DeliveredEvent } from '../../infra/local/aws/event-bus.ts';
import { type LocalAwsOptions, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { BATCH_BYTES_MAX } from '../../shared/core/relay-plan.ts';
import { createEventBridgeBus } from '../../shared/events/event-bus.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { tableDefinition } from '../../shared/store/table-definition.ts';

async function open(options: LocalAwsOptions = {}) {
  const aws = await startLocalAws(options);
  const config = {
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  };
  const clients = {
    events: new EventBridgeClient(config),
    tables: new DynamoDBClient(config),
    secrets: new SecretsManagerClient(config),
  };
  onTestFinished(async () => {
    for (const client of Object.values(clients)) client.destroy();
    await aws.close();
  });
  const delivered: DeliveredEvent[] = [];
  aws.bus.createBus('bus');
  const collect = (pattern: unknown) =>
    aws.bus.putRule({
      name: 'collect',
      busName: 'bus',
      pattern,
      targets: [(event) => void delivered.push(event)],
    });
  return { aws, ...clients, delivered, collect };
}

const anEntry = (fields: object = {}) => ({
  EventBusName: 'bus',
  Source: 'test',
  DetailType: 'Test',
  Detail: '{"status":"failed"}',
  ...fields,
});

describe('the local EventBridge, through the real client', () => {
  test('delivers what a rule matches, in the envelope of AWS', async () => {
    const { events, delivered, collect, aws } = await open();
    collect({ detail: { status: ['failed'] } });
    const Time = new Date('2026-01-15T12:00:00.789Z');
    const Entries = [anEntry({ Time }), anEntry({ Detail: '{"status":"finished"}' })];
    const answer = await events.send(new PutEventsCommand({ Entries }));
    await aws.bus.idle();

    expect(answer.FailedEntryCount).toBe(0);
    expect(delivered).toEqual([
      {
        version: '0',
        id: answer.Entries?.[0]?.EventId,
        'detail-type': 'Test',
        source: 'test',
        account: '000000000000',
        time: '2026-01-15T12:00:00Z',
        region: 'us-east-1',
        resources: [],
        detail: { status: 'failed' },
      },
    ]);
  });

  test('answers for each entry by itself', async () => {
    const { events } = await open();
    const Entries = [
      anEntry(),
      anEntry({ Detail: 'no json' }),
      anEntry({ Detail: '[1]' }),
      anEntry({ Source: '' }),
      anEntry(),
    ];
    const answer = await events.send(new PutEventsCommand({ Entries }));

    expect(answer.FailedEntryCount).toBe(3);
    expect(answer.Entries?.map(({ ErrorCode, EventId }) => ErrorCode ?? typeof EventId)).toEqual([
      'string',
      'MalformedDetail',
      'MalformedDetail',
      'InvalidArgument',
      'string',
    ]);
  });

  test('loses what is sent to a bus that does not exist, with success, as AWS does; asking tells the truth', async () => {
    const { events, delivered, collect, aws } = await open();
    collect({ source: ['test'] });
    const answer = await events.send(
      new PutEventsCommand({ Entries: [anEntry({ EventBusName: 'nowhere' })] }),
    );
    await aws.bus.idle();

    expect(answer.Entries?.[0]?.EventId).toBeTypeOf('string');
    expect(delivered).toEqual([]);
    await expect(events.send(new DescribeEventBusCommand({ Name: 'nowhere' }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    expect((await events.send(new DescribeEventBusCommand({ Name: 'bus' }))).Name).toBe('bus');
  });

  test('refuses eleven entries, a quarter of a megabyte and a bad pattern', async () => {
    const { events } = await open();
    const eleven = Array.from({ length: 11 }, () => anEntry());
    const large = [anEntry({ Detail: JSON.stringify({ text: 'x'.repeat(262_144) }) })];

    for (const Entries of [eleven, large]) {
      await expect(events.send(new PutEventsCommand({ Entries }))).rejects.toMatchObject({
        name: 'ValidationException',
      });
    }
    const rule = new PutRuleCommand({ Name: 'bad', EventPattern: '{"source":"x"}' });
    await expect(events.send(rule)).rejects.toMatchObject({ name: 'InvalidEventPatternException' });
  });

  test('tests a pattern against an event', async () => {
    const { events } = await open();
    const test = (EventPattern: string) =>
      events.send(new TestEventPatternCommand({ EventPattern, Event: JSON.stringify({ source: 'test' }) }));

    expect((await test('{"source":["test"]}')).Result).toBe(true);
    expect((await test('{"source":["other"]}')).Result).toBe(false);
  });

  test('a target that throws fails neither PutEvents nor another target, and is tried again', async () => {
    const slept: number[] = [];
    const clock = { now: () => Date.now(), sleep: async (ms: number) => void slept.push(ms) };
    const dropped: string[] = [];
    const { events, aws, delivered, collect } = await open({
      clock,
      onDropped: (_event, rule, reason) => void dropped.push(`${rule}: ${reason}`),
    });
    collect({ source: ['test'] });
    const broken = () => {
      throw new Error('broken target');
    };
    aws.bus.putRule({ name: 'broken', busName: 'bus', pattern: { source: ['test'] }, targets: [broken] });

    expect((await events.send(new PutEventsCommand({ Entries: [anEntry()] }))).FailedEntryCount).toBe(0);
    await aws.bus.idle();
    expect(delivered).toHaveLength(1);
    expect(dropped).toEqual(['broken: broken target']);
    expect(slept.length).toBeGreaterThan(1);
  });
});

describe('the publisher', () => {
  const anEvent = (detail: object = {}) => ({
    source: 'test',
    detailType: 'Test',
    detail: JSON.stringify(detail),
    time: '2026-01-15T12:00:00.123Z',
  });

  test('sends any number of events in calls of ten, in order', async () => {
    const { events, aws, delivered, collect } = await open();
    collect({ source: ['test'] });
    const outcomes = await createEventBridgeBus(events, 'bus').publish(
      Array.from({ length: 23 }, (_, place) => anEvent({ place })),
    );
    await aws.bus.idle();

    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(delivered.map(({ detail }) => detail['place'])).toEqual(
      Array.from({ length: 23 }, (_, place) => place),
    );
  });

  test('tells entries that may pass later from entries that never will', async () => {
    const codes = [
      'InternalFailure',
      'ThrottlingException',
      'MalformedDetail',
      'NotAuthorizedForSourceException',
      undefined,
    ];
    const { events } = await open({ faults: { failEntry: () => codes.shift() } });
    const outcomes = await createEventBridgeBus(events, 'bus').publish(codes.map(() => anEvent()));

    expect(outcomes).toEqual([
      { kind: 'retry', code: 'InternalFailure' },
      { kind: 'retry', code: 'ThrottlingException' },
      { kind: 'refused', code: 'MalformedDetail' },
      { kind: 'refused', code: 'NotAuthorizedForSourceException' },
      { kind: 'accepted' },
    ]);
  });

  test('a call that fails, or whose answer is lost, is to be sent again, and nobody throws', async () => {
    const refused = await open({
      faults: { beforeCall: () => ({ type: 'ThrottlingException', message: 'slow down' }) },
    });
    const lost = await open({ faults: { losesReply: () => true } });
    lost.collect({ source: ['test'] });

    expect(await createEventBridgeBus(refused.events, 'bus').publish([anEvent()])).toEqual([
      { kind: 'retry', code: 'ThrottlingException' },
    ]);
    expect(await createEventBridgeBus(lost.events, 'bus').publish([anEvent()])).toMatchObject([
      { kind: 'retry' },
    ]);
    await lost.aws.bus.idle();
    expect(lost.delivered).toHaveLength(1);
  });

  test('an event over the byte limit is refused, and delays no other', async () => {
    const { events } = await open();
    const large = anEvent({ text: 'x'.repeat(BATCH_BYTES_MAX) });
    const outcomes = await createEventBridgeBus(events, 'bus').publish([anEvent(), large, anEvent()]);

    expect(outcomes).toEqual([
      { kind: 'accepted' },
      { kind: 'refused', code: 'EntryTooLarge' },
      { kind: 'accepted' },
    ]);
  });
});

describe('the local DynamoDB', () => {
  test('keeps its tables in a folder', async () => {
    const tablesDir = mkdtempSync(join(tmpdir(), 'tables-'));
    onTestFinished(() => rmSync(tablesDir, { recursive: true, force: true }));
    const first = await startLocalAws({ tablesDir });
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = new DynamoDBClient({ endpoint: first.endpoint, region: 'us-east-1', credentials });
    await client.send(new CreateTableCommand(tableDefinition('kept')));
    await createDynamoDbTable(client, 'kept').update({ key: { pk: 'p', sk: 's' }, set: { value: 1 } });
    client.destroy();
    await first.close();

    const { tables } = await open({ tablesDir });

    expect(await createDynamoDbTable(tables, 'kept').get({ pk: 'p', sk: 's' })).toMatchObject({ value: 1 });
  });

  test('a lost reply is a write that was applied', async () => {
    let isLosing = false;
    const { tables } = await open({ faults: { losesReply: () => isLosing } });
    await tables.send(new CreateTableCommand(tableDefinition('lossy')));
    const table = createDynamoDbTable(tables, 'lossy');
    isLosing = true;
    await expect(table.update({ key: { pk: 'p', sk: 's' }, set: { value: 1 } })).rejects.toThrow();
    isLosing = false;

    expect(await table.get({ pk: 'p', sk: 's' })).toMatchObject({ value: 1 });
  });
});

describe('the local Secrets Manager', () => {
  const clock = { now: () => Date.now(), sleep: async () => {} };

  test('rotates: the value before is still there under its stage', async () => {
    const { secrets, aws } = await open();
    aws.secrets.create('key', 'first');
    await secrets.send(new PutSecretValueCommand({ SecretId: 'key', SecretString: 'second' }));
    const read = (VersionStage?: string) =>
      secrets.send(new GetSecretValueCommand({ SecretId: 'key', VersionStage }));

    expect((await read()).SecretString).toBe('second');
    expect((await read('AWSPREVIOUS')).SecretString).toBe('first');
  });

  test('the key source reads it once, and freshly when asked to', async () => {
    const { secrets, aws } = await open();
    aws.secrets.create('key', 'first');
    const keys = createSecretKeySource(secrets, 'key', clock);
    await keys.current();
    aws.secrets.put('key', 'second');

    expect((await keys.current()).reveal()).toBe('first');
    expect((await keys.refresh()).reveal()).toBe('second');
    expect((await keys.current()).reveal()).toBe('second');
  });

  test('a secret that is not there, or is empty, fails by name', async () => {
    const { secrets, aws } = await open();
    aws.secrets.create('blank', ' ');

    await expect(createSecretKeySource(secrets, 'none', clock).current()).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    await expect(createSecretKeySource(secrets, 'blank', clock).current()).rejects.toThrow(/holds no text/);
  });
});

describe('the local AWS as a server', () => {
  test('answers JSON to what it does not know', async () => {
    const { aws } = await open();
    const answer = await fetch(aws.endpoint, { method: 'POST', body: '{}' });

    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ __type: 'UnknownOperationException' });
  });

  test('gives no second one the same port', async () => {
    const { aws } = await open();

    await expect(startLocalAws({ port: Number(new URL(aws.endpoint).port) })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });

  test('tells the SDK of a table that is not there', async () => {
    const { tables } = await open();

    await expect(tables.send(new DescribeTableCommand({ TableName: 'missing' }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
  });
});
