import { describe, expect, test } from 'vitest';
import { createEventBridgeBus } from '../shared/events/event-bus.ts';
import { BATCH_BYTES_MAX } from '../shared/records/journal.ts';
import { createSecretKeySource } from '../shared/runtime/secret-key-source.ts';
import { collect, openAws } from './local/aws/aws-under-test.ts';

describe('the publisher', () => {
  const anEvent = (detail: object = {}) => ({
    source: 'test',
    detailType: 'Test',
    detail: JSON.stringify(detail),
    time: '2026-01-15T12:00:00.123Z',
  });

  test('sends any number of events in order, in calls of at most ten', async () => {
    const { events, aws } = await openAws();
    const delivered = collect(aws, { source: ['test'] });
    const outcomes = await createEventBridgeBus(events, 'bus').publish(
      Array.from({ length: 23 }, (_, place) => anEvent({ place })),
    );
    await aws.bus.idle();

    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(delivered.map(({ detail }) => detail['place'])).toEqual(
      Array.from({ length: 23 }, (_, place) => place),
    );
  });

  test('distinguishes entries to retry, those that a policy refuses among them, from malformed ones', async () => {
    const codes = [
      'InternalFailure',
      'ThrottlingException',
      'MalformedDetail',
      'NotAuthorizedForSourceException',
      undefined,
    ];
    const { events } = await openAws({ faults: { failEntry: () => codes.shift() } });
    const outcomes = await createEventBridgeBus(events, 'bus').publish(codes.map(() => anEvent()));

    expect(outcomes).toEqual([
      { kind: 'retry', code: 'InternalFailure' },
      { kind: 'retry', code: 'ThrottlingException' },
      { kind: 'refused', code: 'MalformedDetail' },
      { kind: 'retry', code: 'NotAuthorizedForSourceException' },
      { kind: 'accepted', eventId: expect.any(String) },
    ]);
  });

  test('a call that fails or loses its answer is reported as to be retried, and does not throw', async () => {
    const refused = await openAws({
      faults: { beforeCall: () => ({ type: 'ThrottlingException', message: 'slow down' }) },
    });
    const lost = await openAws({ faults: { losesReply: () => true } });
    const delivered = collect(lost.aws, { source: ['test'] });

    expect(await createEventBridgeBus(refused.events, 'bus').publish([anEvent()])).toEqual([
      { kind: 'retry', code: 'ThrottlingException' },
    ]);
    expect(await createEventBridgeBus(lost.events, 'bus').publish([anEvent()])).toMatchObject([
      { kind: 'retry' },
    ]);
    await lost.aws.bus.idle();
    expect(delivered).toHaveLength(1);
  });

  test('an event over the byte limit is refused and does not delay the other events', async () => {
    const { events } = await openAws();
    const large = anEvent({ text: 'x'.repeat(BATCH_BYTES_MAX) });
    const outcomes = await createEventBridgeBus(events, 'bus').publish([anEvent(), large, anEvent()]);

    expect(outcomes).toEqual([
      { kind: 'accepted', eventId: expect.any(String) },
      { kind: 'refused', code: 'EntryTooLarge' },
      { kind: 'accepted', eventId: expect.any(String) },
    ]);
  });
});

describe('the source of the upstream key', () => {
  const clock = { now: () => Date.now(), sleep: async () => {} };

  test('reads the secret once, and again only on refresh', async () => {
    const { secrets, aws } = await openAws();
    aws.secrets.create('key', 'first');
    const keys = createSecretKeySource(secrets, 'key', clock);
    await keys.current();
    aws.secrets.put('key', 'second');

    expect((await keys.current()).reveal()).toBe('first');
    expect((await keys.refresh()).reveal()).toBe('second');
    expect((await keys.current()).reveal()).toBe('second');
  });

  test('fails with a named error when the secret does not exist or is blank', async () => {
    const { secrets, aws } = await openAws();
    aws.secrets.create('blank', ' ');

    await expect(createSecretKeySource(secrets, 'none', clock).current()).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
    await expect(createSecretKeySource(secrets, 'blank', clock).current()).rejects.toThrow(/holds no text/);
  });
});
