import { describe, expect, test } from 'vitest';
import type { DeliveredEvent, Target } from '../../../infra/local/aws/event-bridge/deliveries.ts';
import {
  createLocalEventBus,
  type EventBusOptions,
} from '../../../infra/local/aws/event-bridge/event-bus.ts';
import { anEntry } from './aws-under-test.ts';

const everything = { source: [{ exists: true }] };

function aBus(options: Partial<EventBusOptions> = {}) {
  const slept: number[] = [];
  const dropped: string[] = [];
  let idCount = 0;
  const bus = createLocalEventBus({
    clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678), sleep: async (ms) => void slept.push(ms) },
    newId: () => `id-${++idCount}`,
    region: 'eu-west-1',
    accountId: '000000000000',
    onDropped: (event, rule, reason) => void dropped.push(`${event.id} ${rule} ${reason}`),
    ...options,
  });
  bus.createBus('bus');
  const rule = (name: string, ...targets: Target[]) =>
    bus.putRule({ name, busName: 'bus', pattern: everything, targets });
  return { bus, slept, dropped, rule };
}

function failing(times: number, delivered: DeliveredEvent[] = []): (event: DeliveredEvent) => void {
  let left = times;
  return (event) => {
    if (left-- > 0) throw new Error('target is down');
    delivered.push(event);
  };
}

describe('deliveries', () => {
  test('start after PutEvents has answered', async () => {
    const { bus, rule } = aBus();
    const seen: string[] = [];
    rule('rule', () => void seen.push('delivered'));
    bus.putEvents([anEntry()]);
    seen.push('answered');
    await bus.idle();

    expect(seen).toEqual(['answered', 'delivered']);
  });

  test('have the time of the clock in whole seconds when the entry has none', async () => {
    const { bus, rule } = aBus();
    const delivered: DeliveredEvent[] = [];
    rule('rule', (event) => void delivered.push(event));
    bus.putEvents([anEntry({ Resources: ['arn:aws:x'] })]);
    await bus.idle();

    expect(delivered).toEqual([
      {
        version: '0',
        id: 'id-1',
        'detail-type': 'Test',
        source: 'test',
        account: '000000000000',
        time: '2026-01-02T03:04:05Z',
        region: 'eu-west-1',
        resources: ['arn:aws:x'],
        detail: { status: 'failed' },
      },
    ]);
  });

  test('that fail are repeated after doubling pauses until they succeed', async () => {
    const { bus, rule, slept, dropped } = aBus();
    const delivered: DeliveredEvent[] = [];
    rule('rule', failing(3, delivered));
    bus.putEvents([anEntry()]);
    await bus.idle();

    expect(delivered.map(({ id }) => id)).toEqual(['id-1']);
    expect(slept).toEqual([400, 800, 1_600]);
    expect(dropped).toEqual([]);
  });

  test('that keep failing go to the dead letters of their target', async () => {
    const { bus, rule, dropped } = aBus();
    const deadLetters: DeliveredEvent[] = [];
    rule('rule', { deliver: failing(Infinity), deadLetter: (event) => void deadLetters.push(event) });
    bus.putEvents([anEntry()]);
    await bus.idle();

    expect(deadLetters.map(({ id }) => id)).toEqual(['id-1']);
    expect(dropped).toEqual([]);
  });

  test('are reported as dropped when there are no dead letters, or these fail too', async () => {
    const { bus, rule, dropped, slept } = aBus();
    rule('none', failing(Infinity));
    rule('broken', { deliver: failing(Infinity), deadLetter: failing(Infinity) });
    bus.putEvents([anEntry()]);
    await bus.idle();

    expect(dropped).toEqual(['id-1 none target is down', 'id-1 broken target is down']);
    expect(slept).toHaveLength(8);
  });

  test('reach every target of every rule, even when another target changes the event or fails', async () => {
    const { bus, rule } = aBus();
    const seen: unknown[] = [];
    rule('first', (event) => void Object.assign(event.detail, { status: 'changed' }), failing(Infinity));
    rule('second', async (event) => void seen.push(event.detail['status']));
    rule('third', (event) => void seen.push(event.detail['status']));
    bus.putEvents([anEntry()]);
    await bus.idle();

    expect(seen).toEqual(['failed', 'failed']);
  });

  test('stop waiting when the bus is closed, and are reported as dropped', async () => {
    const never = {
      now: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((_resolve, reject) => {
          if (signal?.aborted) reject(signal.reason);
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const { bus, rule, dropped } = aBus({ clock: never });
    rule('rule', failing(Infinity));
    bus.putEvents([anEntry()]);
    await new Promise(setImmediate);
    expect(dropped).toEqual([]);
    await bus.close();
    bus.putEvents([anEntry()]);
    await bus.idle();

    expect(dropped).toEqual(['id-1 rule target is down', 'id-2 rule target is down']);
  });

  test('finish even when the callback for dropped events throws', async () => {
    const { bus, rule } = aBus({
      onDropped: () => {
        throw new Error('the callback failed');
      },
    });
    rule('rule', failing(Infinity));
    bus.putEvents([anEntry()]);

    await expect(bus.idle()).resolves.toBeUndefined();
  });
});

describe('rules', () => {
  test('receive events only of their own bus, and only while they are enabled', async () => {
    const { bus } = aBus();
    const seen: string[] = [];
    bus.createBus('other');
    const put = (name: string, busName: string, state: 'ENABLED' | 'DISABLED') =>
      bus.putRule({ name, busName, state, pattern: everything, targets: [() => void seen.push(name)] });
    put('same', 'bus', 'ENABLED');
    put('disabled', 'bus', 'DISABLED');
    put('elsewhere', 'other', 'ENABLED');
    put('standard', 'default', 'ENABLED');
    bus.putEvents([anEntry(), anEntry({ EventBusName: undefined })]);
    await bus.idle();

    expect(seen).toEqual(['same', 'standard']);
  });

  test('keep their targets and use the new pattern when they are put again without targets', async () => {
    const { bus, rule } = aBus();
    const seen: string[] = [];
    rule('rule', ({ source }) => void seen.push(source));
    bus.putRule({ name: 'rule', busName: 'bus', pattern: { source: ['wanted'] } });
    bus.putEvents([anEntry(), anEntry({ Source: 'wanted' })]);
    await bus.idle();

    expect(seen).toEqual(['wanted']);
  });

  test('are refused when their bus does not exist', () => {
    const { bus } = aBus();
    const put = () => bus.putRule({ name: 'rule', busName: 'nowhere', pattern: everything });

    expect(put).toThrow(expect.objectContaining({ name: 'ResourceNotFoundException' }));
  });

  test('can name their bus by its ARN, and entries can, too', async () => {
    const { bus } = aBus();
    const seen: string[] = [];
    const arn = 'arn:aws:events:eu-west-1:000000000000:event-bus/bus';
    bus.putRule({
      name: 'rule',
      busName: arn,
      pattern: everything,
      targets: [({ id }) => void seen.push(id)],
    });
    bus.putEvents([anEntry({ EventBusName: arn }), anEntry()]);
    await bus.idle();

    expect(bus.hasBus(arn)).toBe(true);
    expect(seen).toEqual(['id-1', 'id-2']);
  });
});

describe('an accepted entry', () => {
  test('has been kept: an entry that a full disk does not take is refused, and the other entries are delivered', async () => {
    const { bus, rule } = aBus({
      onAccepted({ id }) {
        if (id === 'id-2') throw new Error('ENOSPC: no space left on device, write');
      },
    });
    const delivered: string[] = [];
    rule('rule', ({ id }) => void delivered.push(id));
    const results = bus.putEvents([anEntry(), anEntry(), anEntry()]);
    await bus.idle();

    expect(results).toEqual([
      { EventId: 'id-1' },
      { ErrorCode: 'InternalFailure', ErrorMessage: 'ENOSPC: no space left on device, write' },
      { EventId: 'id-3' },
    ]);
    expect(delivered).toEqual(['id-1', 'id-3']);
  });

  test('is reported before PutEvents answers, and a refused one is not', () => {
    const accepted: string[] = [];
    const { bus } = aBus({
      onAccepted: ({ id }) => void accepted.push(id),
      failEntry: (_entry, index) => (index === 2 ? 'InternalFailure' : undefined),
    });
    const lost = anEntry({ EventBusName: 'nowhere' });
    const results = bus.putEvents([anEntry(), anEntry({ Detail: 'x' }), anEntry(), lost, anEntry()]);

    expect(results.map(({ EventId, ErrorCode }) => EventId ?? ErrorCode)).toEqual([
      'id-1',
      'MalformedDetail',
      'InternalFailure',
      'id-2',
      'id-3',
    ]);
    expect(accepted).toEqual(['id-1', 'id-3']);
  });

  test.each([
    ['no source', { Source: undefined }, 'InvalidArgument'],
    ['an empty source', { Source: '' }, 'InvalidArgument'],
    ['no detail type', { DetailType: undefined }, 'InvalidArgument'],
    ['no detail', { Detail: undefined }, 'InvalidArgument'],
    ['a detail that is not JSON', { Detail: '{' }, 'MalformedDetail'],
    ['a detail that is a list', { Detail: '[]' }, 'MalformedDetail'],
    ['a detail that is null', { Detail: 'null' }, 'MalformedDetail'],
    ['a source that is reserved for AWS', { Source: 'aws.ec2' }, 'NotAuthorizedForSourceException'],
  ])('cannot have %s', (_what, fields, code) => {
    const { bus } = aBus();

    expect(bus.putEvents([anEntry(fields)])).toEqual([
      { ErrorCode: code, ErrorMessage: expect.stringMatching(/./) },
    ]);
  });
});
