import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import type { Attempt, KeySource } from '../../shared/upstream/send-with-key.ts';
import type { PageOptions } from '../../shared/upstream/upstream-client.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { clientsUnderTest, SENDERS, sendAllBy } from './scripted-upstream.ts';

const KEY = 'canary-key-0123456789';
const PROJECT_ID = 'quiet-pond-12345678';
const OPERATION_ID = 'd6ad21e4-725d-493f-a495-43867ad88d09';
const ROW = { id: OPERATION_ID, status: 'running', created_at: '2026-01-15T12:00:00Z' };

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));
const list = json(200, { operations: [ROW], pagination: { cursor: '2026-01-15T12:00:00.12Z' } });

/** Gives the answers one after the other; the last one stands for all that follow. */
const inOrder =
  (...answers: readonly Answer[]): Answer =>
  (request, response, count) =>
    answers[Math.min(count, answers.length) - 1]?.(request, response, count);

async function setUp(answer: Answer, options: { keys?: KeySource; timeoutMs?: number } = {}) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response, requests.length);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const sleptMs: number[] = [];
  let nowMs = Date.UTC(2026, 0, 15, 12);
  const clock = {
    now: () => nowMs,
    async sleep(durationMs: number, signal?: AbortSignal) {
      signal?.throwIfAborted();
      sleptMs.push(durationMs);
      nowMs += durationMs;
    },
  };
  const secret = createSecret(KEY);
  const attempts: Attempt[] = [];
  const client = createUpstreamClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`,
    apiKey: options.keys ?? { current: async () => secret, refresh: async () => secret },
    clock,
    random: seededRandom(1),
    budget: createRequestBudget({ clock, requestsPerMinute: 600, burst: 40 }),
    onAttempt: (attempt) => void attempts.push(attempt),
    send: clientsUnderTest.send,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
  const listOperations = (asked?: PageOptions) =>
    client.listOperations({ projectId: PROJECT_ID, limit: 10 }, asked);
  return { client, requests, sleptMs, attempts, listOperations };
}

async function failureOf(call: Promise<unknown>): Promise<UpstreamError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof UpstreamError) return error;
  throw new Error(`Not an UpstreamError: ${inspect(error)}`);
}

describe.each(SENDERS)('a client that sends by %s', (_name, send) => {
  sendAllBy(send);

  describe('calls', () => {
    test('send a path from a template, the key, and nothing of a caller', async () => {
      const { client, requests } = await setUp(list);
      await client.listOperations({ projectId: PROJECT_ID, limit: 7, cursor: '2022-12-09T08:47:52.20417Z' });

      const [request] = requests;
      expect(request?.url).toBe(
        `/api/v2/projects/${PROJECT_ID}/operations?limit=7&cursor=2022-12-09T08%3A47%3A52.20417Z`,
      );
      expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(request?.headers['user-agent']).toBe('operations-bridge');
    });

    test('give operations with what older answers lack, and the cursor as it came', async () => {
      const { listOperations } = await setUp(list);

      expect(await listOperations()).toEqual({
        operations: [
          {
            ...ROW,
            project_id: PROJECT_ID,
            action: 'unknown',
            failures_count: 0,
            updated_at: ROW.created_at,
          },
        ],
        malformedRowCount: 0,
        cursor: '2026-01-15T12:00:00.12Z',
        serverDateMs: expect.any(Number),
        digest: expect.stringMatching(/^[\w+/]{43}=$/),
        isUnchanged: false,
      });
    });

    test('give a page whose bytes are known as unchanged, and without its rows', async () => {
      const { listOperations } = await setUp(list);
      const { digest } = await listOperations();

      expect(await listOperations({ known: digest })).toMatchObject({
        isUnchanged: true,
        operations: [],
        cursor: undefined,
      });
      expect(await listOperations({ known: 'another' })).toMatchObject({ isUnchanged: false });
    });

    test('one bad row never costs the others', async () => {
      const rows = [ROW, { id: 7 }, null, { ...ROW, id: '../secrets' }, { ...ROW, id: 'another' }];
      const { listOperations } = await setUp(json(200, { operations: rows }));

      expect(await listOperations()).toMatchObject({
        operations: [{ id: OPERATION_ID }, { id: 'another' }],
        malformedRowCount: 3,
      });
    });

    test('unknown fields, statuses and actions survive or are left behind, and never fail', async () => {
      const row = {
        ...ROW,
        status: 'x'.repeat(300),
        action: 'an_action_of_tomorrow',
        nested: { deep: [1] },
        error: null,
      };
      const { listOperations } = await setUp(json(200, { operations: [row], pagination: null, more: 1 }));
      const page = await listOperations();

      expect(page.operations[0]).toMatchObject({ status: 'x'.repeat(100), action: 'an_action_of_tomorrow' });
      expect(page.cursor).toBeUndefined();
    });

    test('projects come with the upstream clock and with what could not be listed', async () => {
      const body = {
        projects: [{ id: PROJECT_ID, extra: true }],
        unavailable_project_ids: ['other-project-1'],
      };
      const { client } = await setUp(json(200, body, { date: 'Thu, 15 Jan 2026 12:00:00 GMT' }));

      expect(await client.listProjects({})).toMatchObject({
        projects: [{ id: PROJECT_ID }],
        unavailableProjectIds: ['other-project-1'],
        serverDateMs: Date.UTC(2026, 0, 15, 12),
      });
    });

    test('a project comes with every field that can be a hint, and with those of another version of the service', async () => {
      const project = {
        id: PROJECT_ID,
        updated_at: '2026-01-15T12:00:00Z',
        compute_last_active_at: '2026-01-15T12:00:00Z',
        active_time: 60,
        cpu_used_sec: 12,
        of_tomorrow: true,
      };
      const { client } = await setUp(json(200, { projects: [project] }));

      expect((await client.listProjects({})).projects).toEqual([project]);
    });

    test('an unavailable project whose id cannot be read counts as a malformed row, and costs no other project', async () => {
      const body = { projects: [{ id: PROJECT_ID }], unavailable_project_ids: ['other-1', 7, null, '../x'] };
      const { client } = await setUp(json(200, body));

      expect(await client.listProjects({})).toMatchObject({
        projects: [{ id: PROJECT_ID }],
        unavailableProjectIds: ['other-1'],
        malformedRowCount: 3,
      });
    });

    test.each(['..', '../x', 'a/b', 'a%2fb', 'A', '', 'a?b', 'a#b', 'a\\b', 'a'.repeat(64), '\u0000'])(
      'an id that could leave its place in the path is never sent: %j',
      async (id) => {
        const { client, requests } = await setUp(list);

        expect((await failureOf(client.listOperations({ projectId: id }))).kind).toBe('rejected');
        if (id !== 'A' && id.length !== 64) {
          const call = client.getOperation({ projectId: PROJECT_ID, operationId: id });
          expect((await failureOf(call)).kind).toBe('rejected');
        }
        expect(requests).toHaveLength(0);
      },
    );
  });

  describe('what passes is tried again', () => {
    const drop: Answer = (request) => void request.socket.destroy();
    const html: Answer = (_request, response) =>
      void response.writeHead(524, { 'content-type': 'text/html' }).end('<html>A timeout occurred</html>');
    const half: Answer = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"operations":[{"id"');

    test.each([
      ['429', json(429, { code: '', message: 'slow down' })],
      ['503', json(503, {})],
      ['500', json(500, { message: 'internal error' })],
      ['a proxy page', html],
      ['a broken connection', drop],
      ['half a body', half],
      ['a list that is none', json(200, { operations: 'many' })],
    ])('after %s', async (_what, answer) => {
      const { listOperations, requests, attempts } = await setUp(inOrder(answer, answer, list));

      expect((await listOperations()).operations).toHaveLength(1);
      expect(requests).toHaveLength(3);
      expect(attempts.at(-1)).toMatchObject({ path: '/projects/{project_id}/operations', status: 200 });
    });

    test.each([
      ['429', json(429, { message: 'x' }), 'rate_limited', 4],
      ['HTML', html, 'unavailable', 4],
      ['half a body', half, 'malformed_answer', 4],
      ['a broken connection', drop, 'network', 4],
      ['400', json(400, { message: 'x' }), 'rejected', 1],
      ['403', json(403, { message: 'x' }), 'forbidden', 1],
      ['404', json(404, { message: 'project not found' }), 'not_found', 1],
      ['423', json(423, { message: 'x' }), 'locked', 1],
      ['a redirect', json(302, {}, { location: 'http://127.0.0.1:1/' }), 'network', 4],
    ])('%s for good is %s after %s calls', async (_what, answer, kind, count) => {
      const { listOperations, requests } = await setUp(answer);

      expect((await failureOf(listOperations())).kind).toBe(kind);
      expect(requests).toHaveLength(count);
    });

    test('Retry-After is waited for, by everybody', async () => {
      const answer = inOrder(json(429, { message: 'x' }, { 'retry-after': '7' }), list);
      const { listOperations, sleptMs } = await setUp(answer);
      await listOperations();

      expect(sleptMs.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(7_000);
    });

    test('a long Retry-After is handed to the caller', async () => {
      const { listOperations, requests } = await setUp(json(429, { message: 'x' }, { 'retry-after': '120' }));

      expect(await failureOf(listOperations())).toMatchObject({
        kind: 'rate_limited',
        retryAfterMs: 120_000,
      });
      expect(requests).toHaveLength(1);
    });

    test('a silent connection is a time-out', async () => {
      const { listOperations, attempts } = await setUp(() => {}, { timeoutMs: 30 });

      expect((await failureOf(listOperations())).kind).toBe('timeout');
      // The attempts are counted where they are sent: on a busy machine the time is over before a request has arrived.
      expect(attempts).toHaveLength(4);
    });

    test('a body that never ends is refused', async () => {
      const flood: Answer = (_request, response) => {
        response.on('error', () => {});
        response.write(`{"operations":["${'x'.repeat(6_000_000)}`);
      };
      const { listOperations } = await setUp(flood);

      expect((await failureOf(listOperations())).message).toMatch(/larger than 5000000 bytes/);
    });

    test('the caller can cancel, before and while', async () => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
      const { client, requests } = await setUp(() => arrive());
      const stop = new AbortController();
      const underWay = failureOf(client.listOperations({ projectId: PROJECT_ID }, { signal: stop.signal }));
      await arrived;
      stop.abort();

      expect((await underWay).kind).toBe('cancelled');
      const after = await failureOf(
        client.listOperations({ projectId: PROJECT_ID }, { signal: stop.signal }),
      );
      expect(after.kind).toBe('cancelled');
      expect(requests).toHaveLength(1);
    });
  });

  describe('a refused key', () => {
    const refused = json(401, {
      request_id: 'r',
      code: '',
      message: 'supplied credentials do not pass authentication',
    });
    const acceptsNew: Answer = (request, response, count) =>
      (request.headers.authorization === 'Bearer new-key' ? list : refused)(request, response, count);

    /** Gives `KEY` until the first refresh, and `fresh` from then on. `meanwhile` runs while the fresh key is read. */
    function keySource(fresh: string, meanwhile: () => Promise<void> = async () => {}) {
      let refreshCount = 0;
      const keys: KeySource = {
        current: async () => createSecret(refreshCount > 0 ? fresh : KEY),
        async refresh() {
          refreshCount += 1;
          await meanwhile();
          return createSecret(fresh);
        },
      };
      return { keys, refreshCount: () => refreshCount };
    }

    test('is read freshly once, and the new one goes on', async () => {
      const { keys, refreshCount } = keySource('new-key');
      const { listOperations, requests } = await setUp(acceptsNew, { keys });

      expect((await listOperations()).operations).toHaveLength(1);
      expect([requests.length, refreshCount()]).toEqual([2, 1]);
    });

    test('is given up when the fresh one is the same', async () => {
      const { keys } = keySource(KEY);
      const { listOperations, requests } = await setUp(refused, { keys });

      expect((await failureOf(listOperations())).kind).toBe('unauthorized');
      expect(requests).toHaveLength(1);
    });

    test('is given up when the fresh one is refused too', async () => {
      const { keys } = keySource('other-key');
      const { listOperations, requests } = await setUp(refused, { keys });

      expect((await failureOf(listOperations())).kind).toBe('unauthorized');
      expect(requests).toHaveLength(2);
    });

    test('is read once for many calls that meet it together', async () => {
      const callCount = 8;
      const allAreRefused = () =>
        expect
          .poll(() => refusedCount(), { timeout: 20_000, interval: 1 })
          .toBe(callCount)
          .then(() => new Promise<void>((resolve) => setImmediate(resolve)));
      const { keys, refreshCount } = keySource('new-key', allAreRefused);
      const { listOperations, attempts } = await setUp(acceptsNew, { keys });
      const refusedCount = () => attempts.filter(({ status }) => status === 401).length;
      await Promise.all(Array.from({ length: callCount }, listOperations));

      expect(refreshCount()).toBe(1);
    });
  });

  describe('the key', () => {
    const answers: readonly (readonly [string, Answer])[] = [
      ['401', json(401, { message: 'bad key \u001b[31m' })],
      ['404', json(404, {})],
      ['500', json(500, {})],
      ['half a body', (_request, response) => void response.writeHead(200).end('{"op')],
      ['a broken connection', (request) => void request.socket.destroy()],
      ['a time-out', () => {}],
    ];

    test.each(answers)('is in no error: %s', async (what, answer) => {
      // Only the silent connection needs the short time-out; on a busy machine any other answer could come later than
      // that.
      const { listOperations } = await setUp(answer, what === 'a time-out' ? { timeoutMs: 30 } : {});
      const error = await failureOf(listOperations());
      const everything = [
        inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }),
        JSON.stringify(error),
        String(error.stack),
        inspect(error.cause, { depth: Number.POSITIVE_INFINITY, showHidden: true }),
      ].join('\n');

      expect(everything).not.toContain(KEY);
      expect(error.message).not.toMatch(/\p{Cc}/u);
    });

    test('prints as [redacted], however it is printed', () => {
      const secret = createSecret(KEY);
      const printed = [
        // oxlint-disable-next-line typescript/no-base-to-string -- the type does not show the method this is about
        String(secret),
        JSON.stringify({ secret }),
        inspect(secret),
        inspect({ deep: { secret } }, { depth: 9 }),
      ];

      for (const text of printed) {
        expect(text).toContain('[redacted]');
        expect(text).not.toContain(KEY);
      }
      expect(secret.reveal()).toBe(KEY);
    });
  });

  describe('the budget', () => {
    test('serves callers in order, and a cancelled one spends nothing', async () => {
      let nowMs = 0;
      const clock = {
        now: () => nowMs,
        async sleep(durationMs: number, signal?: AbortSignal) {
          await Promise.resolve();
          signal?.throwIfAborted();
          nowMs += durationMs;
        },
      };
      const budget = createRequestBudget({ clock, requestsPerMinute: 10, burst: 2 });
      const stop = new AbortController();
      const served: string[] = [];
      const take = (name: string, signal?: AbortSignal) => budget.take(signal).then(() => served.push(name));
      await Promise.all([take('a'), take('b')]);
      const cancelled = take('c', stop.signal).catch(() => served.push('c cancelled'));
      stop.abort(new Error('enough'));
      await Promise.all([cancelled, take('d'), take('e')]);

      expect(served).toEqual(['a', 'b', 'c cancelled', 'd', 'e']);
      expect(Math.round(nowMs / 100)).toBe(200);
    });
  });
});

test('lists the computes that run, and leaves out rows of an unusual form', async () => {
  const endpoint = { id: 'ep-quiet-pond-12345678', current_state: 'active', suspend_timeout_seconds: -1 };
  const { client, requests } = await setUp(json(200, { endpoints: [{ id: 1 }, null, endpoint] }));
  expect(await client.listRunningComputes({ projectId: PROJECT_ID })).toEqual([
    { id: endpoint.id, lastActiveMs: undefined, suspendAfterMs: Number.POSITIVE_INFINITY },
  ]);
  expect(requests.map(({ url }) => url)).toEqual([`/api/v2/projects/${PROJECT_ID}/endpoints`]);
});
