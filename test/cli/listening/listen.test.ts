import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type BridgeAnswer,
  type BridgeClient,
  BridgeRefusal,
  BridgeSilence,
} from '../../../infra/cli/connection/bridge-client.ts';
import type { FeedEvent } from '../../../infra/cli/listening/event-envelope.ts';
import { readPosition } from '../../../infra/cli/listening/kept-position.ts';
import { type Listening, listen } from '../../../infra/cli/listening/listen.ts';
import { parseSince } from '../../../infra/cli/listening/since.ts';
import { aFolder } from '../../local/a-folder.ts';

const eventNamed = (id: string, second = 0): FeedEvent => ({
  id,
  detail_type: 'Operation State Changed',
  source: 'operations-bridge',
  time: `2026-01-16T21:02:${String(second).padStart(2, '0')}.000Z`,
  detail: {},
});

type Step = readonly FeedEvent[] | Error;

/** A feed that answers each request with the next step. A cursor is the number of the step that follows. */
function aFeed(steps: readonly Step[]) {
  const asked: Readonly<Record<string, unknown>>[] = [];
  const stop = new AbortController();
  const client: BridgeClient = {
    send: () => Promise.reject(new Error('not used')),
    async read({ query = {} }, body) {
      const step = steps[asked.length];
      asked.push(query);
      if (step instanceof Error) throw step;
      if (step === undefined) {
        stop.abort(new Error('the test is over'));
        throw new BridgeSilence('over');
      }
      return body.parse({ events: step, cursor: `c${asked.length}`, has_more: false });
    },
  };
  return { client, asked, stop };
}

function aListening(steps: readonly Step[], file = join(aFolder(), 'position.json')) {
  const { client, asked, stop } = aFeed(steps);
  const handled: string[] = [];
  const outages: (string | undefined)[] = [];
  const newFeeds: string[] = [];
  const listening: Listening = {
    reader: {
      client,
      filter: {},
      clock: { now: () => 0, sleep: async () => {} },
      signal: stop.signal,
      onOutage: (sentence) => void outages.push(sentence),
    },
    start: { kind: 'from', from: 'now' },
    kept: readPosition(file),
    positionFile: file,
    handle: async ({ id }) => {
      handled.push(id);
      return true;
    },
    onNewFeed: (from) => void newFeeds.push(from),
    eventsMax: 1_000,
  };
  return { listening, asked, handled, outages, newFeeds, file };
}

const refusal = (status: number, isLocalRun = false) =>
  new BridgeRefusal({ url: 'https://bridge.example.com', isLocalRun }, {
    status,
    headers: new Headers(),
    text: '',
    json: {},
  } satisfies BridgeAnswer);

describe('listening', () => {
  test('deals with each event once, although the feed gives copies', async () => {
    const { listening, handled } = aListening([
      [eventNamed('a'), eventNamed('b')],
      [eventNamed('b'), eventNamed('c')],
    ]);

    await listen(listening);

    expect(handled).toEqual(['a', 'b', 'c']);
  });

  test('goes on at the cursor behind the last complete page', async () => {
    const first = aListening([[eventNamed('a')], [eventNamed('b')]]);
    await listen(first.listening);
    const second = aListening([[eventNamed('c')]], first.file);
    await listen(second.listening);

    expect(first.asked[0]).toMatchObject({ from: 'now' });
    expect(second.asked[0]).toMatchObject({ cursor: 'c2' });
    expect(second.handled).toEqual(['c']);
  });

  test('that ended in the middle of a page reads the page again and leaves out what it had dealt with', async () => {
    const page = [eventNamed('b'), eventNamed('c'), eventNamed('d')];
    const first = aListening([[eventNamed('a')], page]);
    await listen({ ...first.listening, eventsMax: 3 });
    const second = aListening([page], first.file);
    await listen(second.listening);

    expect(first.handled).toEqual(['a', 'b', 'c']);
    expect(second.asked[0]).toMatchObject({ cursor: 'c1' });
    expect(second.handled).toEqual(['d']);
  });

  test('does not count an event whose handling was stopped', async () => {
    const first = aListening([[eventNamed('a'), eventNamed('b')]]);
    await listen({ ...first.listening, handle: async ({ id }) => id === 'a' });

    expect(readPosition(first.file)).toEqual({ recent_ids: ['a'], last_time: eventNamed('a').time });
  });

  test.each<readonly [string, Error]>([
    ['does not answer', new BridgeSilence('The bridge does not answer.')],
    ['answers 503', refusal(503)],
    ['answers 429', refusal(429)],
    ['was restarted on this machine and has another token', refusal(401, true)],
  ])('waits for a bridge that %s, and reports the outage once', async (_what, failure) => {
    const { listening, handled, outages, asked } = aListening([
      [eventNamed('a')],
      failure,
      failure,
      [eventNamed('b')],
    ]);

    await listen(listening);

    expect(handled).toEqual(['a', 'b']);
    expect(outages.slice(0, 2)).toEqual([failure.message, undefined]);
    expect(asked.slice(1, 4).map(({ cursor }) => cursor)).toEqual(['c1', 'c1', 'c1']);
  });

  test.each([refusal(401), refusal(403), refusal(404)])(
    'ends when no repetition would help: %s',
    async (failure) => {
      const { listening } = aListening([failure]);

      await expect(listen(listening)).rejects.toBe(failure);
    },
  );

  test('reads from a minute before the last event when the bridge does not know the cursor', async () => {
    const first = aListening([[eventNamed('a', 30)]]);
    await listen(first.listening);
    const second = aListening([refusal(400), [eventNamed('a', 30), eventNamed('b', 31)]], first.file);
    await listen(second.listening);

    expect(second.newFeeds).toEqual(['2026-01-16T21:01:30.000Z']);
    expect(second.asked[1]).toMatchObject({ from: '2026-01-16T21:01:30.000Z' });
    expect(second.handled).toEqual(['b']);
  });
});

describe('--since', () => {
  const NOW_MS = Date.UTC(2026, 0, 16, 21);
  const cursor = 'A'.repeat(60);

  test.each([
    ['now', { kind: 'from', from: 'now' }],
    ['beginning', { kind: 'from', from: 'beginning' }],
    ['10m', { kind: 'from', from: '2026-01-16T20:50:00.000Z' }],
    ['2d', { kind: 'from', from: '2026-01-14T21:00:00.000Z' }],
    ['2026-01-16T20:00:00+01:00', { kind: 'from', from: '2026-01-16T19:00:00.000Z' }],
    ['2026-01-16', { kind: 'from', from: '2026-01-16T00:00:00.000Z' }],
    [cursor, { kind: 'cursor', cursor }],
  ])('%s is understood', (text, start) => {
    expect(parseSince(text, NOW_MS)).toEqual(start);
  });

  test.each(['yesterday', '10', '2026-13-99', ''])('"%s" is refused with what it takes', (text) => {
    expect(() => parseSince(text, NOW_MS)).toThrow(/--since is ".*"; it takes a time such as/);
  });
});
