/**
 * The worker of queued commands dies in the middle of its work, and one of another version takes the line over: after a deployment,
 * and after a roll-back. Each command is sent once, in its order and before its deadline, and its caller finds what became of it.
 */

import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { projectKey } from '../../../shared/store/keys.ts';
import type { Item } from '../../../shared/store/table.ts';
import { ACCOUNT_ID } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { secondEdition, type Workers } from '../second-edition.ts';
import { openApi } from './api-door.ts';

const ITEMS = new URL('../../fixtures/queue-286368fb/items.json', import.meta.url);
/** The second edition had one key for hashes and seals. Without a pause the line is taken over where the queue key has its value. */
const KEY = 'a-pepper-of-tests';
const ONE_KEY = { pepper: KEY, queueKey: KEY };
const CREATED_AT = '2026-01-15T12:00:00Z';
const restart = (number: number) =>
  `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-${number}/restart`;
const numberOf = (url: string) => Number(/-(\d)\/restart$/.exec(url)?.[1]);

let old: Workers;
beforeAll(async () => {
  old = await secondEdition();
});

/** Opens a door whose upstream answers each command with an operation that has finished, or never answers while it hangs. */
async function openLine() {
  const dials = { hangs: false };
  const door = await openApi(({ url }) => {
    if (dials.hangs) return new Promise<Response>(() => {});
    const operation = {
      id: `00000000-0000-4000-8000-00000000000${numberOf(url)}`,
      project_id: PROJECT_ID,
      action: 'start_compute',
      status: 'finished',
      failures_count: 0,
      created_at: CREATED_AT,
      updated_at: CREATED_AT,
    };
    return Response.json({ endpoint: { id: 'ep-little-smoke-1' }, operations: [operation] });
  }, ONE_KEY);
  await door.api.memory.update({
    key: projectKey(ACCOUNT_ID, PROJECT_ID),
    set: { kind: 'project', account_id: ACCOUNT_ID, project_id: PROJECT_ID, is_visible: true },
  });
  const queue = (number: number, headers = {}) =>
    door.ask('POST', restart(number), {
      prefer: 'respond-async',
      'idempotency-key': `key-${number}`,
      ...headers,
    });
  return { ...door, dials, queue, sentNumbers: () => door.upstream.sent.map(({ url }) => numberOf(url)) };
}

type Line = Awaited<ReturnType<typeof openLine>>;

/** Each returns the ids of its five commands. */
const writers = {
  'the second edition': async ({ api }: Line): Promise<readonly string[]> => {
    const items = JSON.parse(await readFile(ITEMS, 'utf8')) as readonly Item[];
    for (const { pk, sk, ...set } of items) await api.memory.update({ key: { pk, sk }, set });
    return [1, 2, 3, 4, 5].map((number) => `request-${number}`);
  },
  today: async ({ queue, work, dials, upstream }: Line): Promise<readonly string[]> => {
    const accepted = [await queue(1)];
    await work();
    for (const number of [2, 3]) accepted.push(await queue(number));
    accepted.push(await queue(4, { 'bridge-deadline': '30' }), await queue(5));
    dials.hangs = true;
    void work();
    while (upstream.sent.length < 2) await new Promise((resolve) => setImmediate(resolve));
    upstream.sent.length = 0;
    dials.hangs = false;
    return accepted.map(({ body }) => body.command.command_id);
  },
};

const takeovers = [
  { writer: 'the second edition', worker: 'today' },
  { writer: 'today', worker: 'the second edition' },
] as const;

describe.each(takeovers)('what $writer has queued and $worker goes on with', ({ writer, worker }) => {
  const versionOf = () => (worker === 'today' ? undefined : old);

  test('is sent once, in its order, without what may be under way and without what came too late', async () => {
    const line = await openLine();
    const ids = await writers[writer](line);

    // The second command may be under way for a minute.
    await line.work(versionOf());
    expect(line.sentNumbers()).toEqual([]);
    line.pass(61_000);
    for (let turn = 0; turn < 6; turn++) await line.work(versionOf());

    expect(line.sentNumbers()).toEqual([3, 5]);
    const states = [];
    for (const id of ids)
      states.push((await line.ask('GET', `/bridge/v1/commands/${id}`)).body.command.state);
    expect(states).toEqual(['succeeded', 'unknown', 'succeeded', 'expired', 'succeeded']);
    const outcomes = line
      .publishedOf('Command Settled')
      .map(({ command, outcome }) => [(command as { readonly request_id: string }).request_id, outcome]);
    const first = writer === 'today' ? [[ids[0], 'succeeded']] : [];
    expect(outcomes).toHaveLength(4 + first.length);
    expect(outcomes).toEqual(
      expect.arrayContaining([
        ...first,
        [ids[1], 'unknown'],
        [ids[2], 'succeeded'],
        [ids[3], 'expired'],
        [ids[4], 'succeeded'],
      ]),
    );
  });

  test('answers a repetition of its first command with the answer that was kept, and sends nothing', async () => {
    const line = await openLine();
    const ids = await writers[writer](line);

    const again = await line.queue(1);

    expect(again).toMatchObject({ status: 200, body: { endpoint: { id: 'ep-little-smoke-1' } } });
    expect((await line.ask('GET', `/bridge/v1/commands/${ids[0]}`)).body.command.state).toBe('succeeded');
    expect(line.sentNumbers()).toEqual([]);
  });

  test('can be cancelled while it waits', async () => {
    const line = await openLine();
    const ids = await writers[writer](line);

    const { body } = await line.ask('DELETE', `/bridge/v1/commands/${ids[2]}`);
    line.pass(61_000);
    for (let turn = 0; turn < 6; turn++) await line.work(versionOf());

    expect(body.command.state).toBe('cancelled');
    expect(line.sentNumbers()).toEqual([5]);
  });
});
