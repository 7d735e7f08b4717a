import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DeliveredEvent } from '../infra/local/aws/event-bus.ts';
import { type LocalAwsOptions, startLocalAws } from '../infra/local/aws/local-aws.ts';
import { BATCH_BYTES_MAX } from '../shared/core/relay-plan.ts';
import { createEventBridgeBus } from '../shared/events/event-bus.ts';
import { createSecretKeySource } from '../shared/runtime/secret-key-source.ts';

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

describe('the upstream key', () => {
  const clock = { now: () => Date.now(), sleep: async () => {} };

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
