/** Two processes of the notifier have clocks that differ a little: what one has just written looks a moment ahead to the other. */

import { describe, expect, test } from 'vitest';
import { sweep } from '../../../functions/notifier/sweep.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aNotifier, anEvent } from '../../notifier/channel-under-test.ts';

const MINUTE_MS = 60_000;

/** Clocks of AWS differ by milliseconds; a machine whose clock runs more than a minute off has a wrong one. */
const random = seededRandom(41_012);
const SKEWS_MS = [
  1,
  5,
  MINUTE_MS,
  ...Array.from({ length: 12 }, () => Math.ceil(random.next() ** 3 * MINUTE_MS)),
];

type Notifier = ReturnType<typeof aNotifier>;

function failure({ clock }: Notifier, detail: object = {}) {
  const now = new Date(clock.now()).toISOString();
  return anEvent({ observed_at: now, operation_updated_at: now, ...detail });
}

const toldAt = ({ slack }: Notifier) => slack.messages.map(({ atMs }) => atMs);

describe.each(SKEWS_MS)('a clock that is %i ms behind the one before it', (skewMs) => {
  test('leaves a failure its five minutes to heal', async () => {
    const notifier = aNotifier({ patience_seconds: 300 });
    const storedAtMs = notifier.clock.now();
    await notifier.deliver(failure(notifier));
    notifier.wait(-skewMs);
    await sweep(notifier.deps);

    expect(toldAt(notifier)).toEqual([]);
    notifier.wait(storedAtMs + 300_000 - 1 - notifier.clock.now());
    await sweep(notifier.deps);
    expect(toldAt(notifier)).toEqual([]);
    notifier.wait(1);
    await sweep(notifier.deps);
    expect(toldAt(notifier)).toEqual([storedAtMs + 300_000]);
  });

  test('does not end the time for which further failures are gathered', async () => {
    const notifier = aNotifier({ gather_seconds: 600 });
    await notifier.deliver(failure(notifier, { operation_id: 'first', project_id: 'calm-river-12345678' }));
    const firstMs = notifier.clock.now();
    notifier.wait(-skewMs);
    await notifier.deliver(failure(notifier, { operation_id: 'second', project_id: 'quiet-pond-12345678' }));
    await sweep(notifier.deps);

    expect(toldAt(notifier)).toEqual([firstMs]);
    await notifier.pass(12);
    expect(toldAt(notifier)).toHaveLength(2);
  });

  test('does not end the window within which an incident is told once', async () => {
    const notifier = aNotifier({ window_seconds: 300 });
    await notifier.deliver(failure(notifier, { operation_id: 'first' }));
    await notifier.deliver(failure(notifier, { operation_id: 'second' }));
    notifier.wait(-skewMs);
    await sweep(notifier.deps);

    expect(toldAt(notifier)).toHaveLength(1);
  });
});

test('a time more than a minute ahead was written by a wrong clock, and holds no failure back', async () => {
  const notifier = aNotifier({ patience_seconds: 300 });
  await notifier.deliver(failure(notifier));
  notifier.wait(-MINUTE_MS - 1);
  await sweep(notifier.deps);

  expect(toldAt(notifier)).toHaveLength(1);
});
