import { describe, expect, test } from 'vitest';
import { createLocalQueue } from '../../../infra/local/aws/sqs/event-source.ts';

function aQueue() {
  let nowMs = 0;
  let ids = 0;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const queue = createLocalQueue(
    { visibilityTimeoutMs: 1_000, receiveCountMax: 2 },
    { clock, newId: () => `m${++ids}` },
  );
  const bodies = () => queue.receive(10).map(({ body }) => body);
  return {
    queue,
    bodies,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
  };
}

describe('a queue', () => {
  test('hides a received message, and shows it again unless it is deleted in time', () => {
    const { queue, bodies, pass } = aQueue();
    queue.send('a');

    expect([bodies(), bodies()]).toEqual([['a'], []]);
    pass(1_000);
    expect(bodies()).toEqual(['a']);
  });

  test('removes a deleted message', () => {
    const { queue, bodies, pass } = aQueue();
    queue.send('a');
    const [message] = queue.receive(1);
    queue.delete(message?.messageId ?? '');
    pass(1_000);

    expect([bodies(), queue.size]).toEqual([[], 0]);
  });

  test('shows a released message at once', () => {
    const { queue, bodies } = aQueue();
    queue.send('a');
    queue.release(queue.receive(1)[0]?.messageId ?? '');

    expect(bodies()).toEqual(['a']);
  });

  test('moves a message that was received too often to the dead letters, and continues with the others', () => {
    const { queue, bodies, pass } = aQueue();
    queue.send('poison');
    for (let count = 0; count < 2; count++) {
      bodies();
      pass(1_000);
    }
    queue.send('fine');

    expect(bodies()).toEqual(['fine']);
    expect(queue.deadLetters).toMatchObject([{ body: 'poison', receiveCount: 2 }]);
  });

  test('returns at most the requested number of messages', () => {
    const { queue } = aQueue();
    for (const body of ['a', 'b', 'c']) queue.send(body);

    expect(queue.receive(2)).toHaveLength(2);
  });
});
