import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ATTEMPTS_MAX, PAUSE_MS_MAX, RETRY_AFTER_MS_MAX } from '../../shared/rates/retry-decision.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { takenPermit } from '../../shared/upstream/request-budget.ts';
import type { KeySource } from '../../shared/upstream/send-with-key.ts';
import { guardKey } from '../../shared/upstream/send-with-key.ts';
import type { UpstreamErrorKind } from '../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../builders.ts';
import {
  answers,
  breaksOff,
  failureOf,
  inOrder,
  KEY,
  listed,
  listen,
  OPERATION_ID,
  PROJECT_ID,
  ROW,
  type Script,
  SENDERS,
  sendAllBy,
  startScriptedUpstream,
  timeOutAfterTheHead,
} from './scripted-upstream.ts';

const LARGE_BODY = 'x'.repeat(6_000_000);
const silent: Script = () => {};
const hangsUp: Script = (request) => void request.socket.destroy();
const stallsInTheBody: Script = (_request, response) => void response.writeHead(200).write('{"operations":[');
const gzipped: Script = (_request, response) =>
  void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(`"${LARGE_BODY}"`));

describe.each(SENDERS)('a client that sends by %s', (_name, send) => {
  sendAllBy(send);

  describe('an answer that is not whole', () => {
    test.each([
      ['an answer that breaks off', breaksOff(200), 'malformed_answer', 200],
      ['an answer that stalls', stallsInTheBody, 'timeout', 200],
      ['no answer at all', silent, 'timeout', undefined],
      ['a connection that hangs up', hangsUp, 'network', undefined],
      ['an answer of 5 MB and more, unpacked', gzipped, 'malformed_answer', 200],
      ['nothing in the body', answers(204, undefined), 'malformed_answer', 204],
    ] as const)('%s is of its own kind, and is asked for again', async (_what, script, kind, status) => {
      const { list, requests, attempts } = await startScriptedUpstream(script, {
        ...(script === silent && { timeoutMs: 60 }),
        ...(script === stallsInTheBody && { fetch: timeOutAfterTheHead() }),
      });

      expect(await failureOf(list())).toMatchObject({ kind, status });
      // A request that gets no answer may be given up before it has arrived.
      if (script !== silent) expect(requests).toHaveLength(ATTEMPTS_MAX);
      expect(attempts.map((attempt) => attempt.status)).toEqual([status, status, status, status]);
    });

    test.each([
      ['breaks off', breaksOff(429, { 'retry-after': '120' })],
      ['never ends', answers(429, LARGE_BODY, { 'retry-after': '120' })],
      [
        'is a page for people',
        (_request, response) =>
          void response.writeHead(429, { 'retry-after': '120' }).end('<html>Slow down</html>'),
      ],
    ] as const satisfies readonly (readonly [string, Script])[])(
      'a refusal whose body %s is still what its status says',
      async (_what, script) => {
        const { list, requests } = await startScriptedUpstream(script);

        expect(await failureOf(list())).toMatchObject({ kind: 'rate_limited', retryAfterMs: 120_000 });
        expect(requests).toHaveLength(1);
      },
    );
  });

  describe('Retry-After', () => {
    test('as a date counts from the clock of the upstream, not from ours', async () => {
      const headers = {
        date: 'Thu, 15 Jan 2026 11:00:00 GMT',
        'retry-after': 'Thu, 15 Jan 2026 11:01:00 GMT',
      };
      const { list } = await startScriptedUpstream(answers(503, {}, headers));

      expect((await failureOf(list())).retryAfterMs).toBe(60_000);
    });

    test('as a date counts from our clock when the upstream tells no time', async () => {
      const { list } = await startScriptedUpstream((_request, response) => {
        response.sendDate = false;
        response.writeHead(503, { 'retry-after': new Date(NOON_MS + 60_000).toUTCString() }).end();
      });

      expect((await failureOf(list())).retryAfterMs).toBe(60_000);
    });

    test('of a 429 holds every other call back for as long', async () => {
      const { client, list, requests } = await startScriptedUpstream(
        inOrder(answers(429, {}, { 'retry-after': '120' }), listed),
      );
      await failureOf(list());
      await client.listProjects({}).catch(() => {});

      expect(requests[1]?.atMs).toBeGreaterThanOrEqual(NOON_MS + 120_000);
    });

    test('of a 503 holds no other call back', async () => {
      const { list, requests } = await startScriptedUpstream(
        inOrder(answers(503, {}, { 'retry-after': '120' }), listed),
      );
      await failureOf(list());
      await list();

      expect(requests[1]?.atMs).toBeLessThan(NOON_MS + 1_000);
    });

    test('beyond all reason is waited for as long as a timer can wait', async () => {
      const { list, sleptMs } = await startScriptedUpstream(
        inOrder(answers(429, {}, { 'retry-after': '9'.repeat(400) }), listed),
      );
      await failureOf(list());
      await list();

      expect(sleptMs).toEqual([RETRY_AFTER_MS_MAX]);
    });

    test('within patience is slept through, and never cut short', async () => {
      const { list, requests } = await startScriptedUpstream(
        inOrder(answers(503, {}, { 'retry-after': '19' }), listed),
      );
      await list();

      expect(requests).toHaveLength(2);
      expect(requests[1]?.atMs).toBeGreaterThanOrEqual(NOON_MS + 19_000);
      expect(requests[1]?.atMs).toBeLessThan(NOON_MS + PAUSE_MS_MAX);
    });
  });

  describe('permits', () => {
    test('every attempt takes one, repetitions too', async () => {
      const { list, budget, requests } = await startScriptedUpstream(
        inOrder(answers(500, {}), answers(503, {}), listed),
      );
      await list();

      expect(budget.takenCount()).toBe(3);
      expect(requests).toHaveLength(3);
    });

    test('a request that brings one takes none, and its repetitions take their own', async () => {
      const { client, budget, requests } = await startScriptedUpstream(
        inOrder(answers(500, {}), answers(503, {}), listed),
      );
      await client.listOperations({ projectId: 'quiet-pond-12345678' }, { permit: takenPermit() });

      expect(budget.takenCount()).toBe(2);
      expect(requests).toHaveLength(3);
    });

    test('the attempt with a fresh key takes one', async () => {
      const keys: KeySource = {
        current: async () => createSecret(KEY),
        refresh: async () => createSecret('another-key'),
      };
      const { list, budget } = await startScriptedUpstream(inOrder(answers(401, {}), listed), { keys });
      await list();

      expect(budget.takenCount()).toBe(2);
    });
  });

  describe('a key that the upstream has refused', () => {
    const guarded = (texts: readonly string[]) => {
      let place = 0;
      return guardKey({
        current: async () => createSecret(texts[place] ?? ''),
        refresh: async () => {
          place = Math.min(place + 1, texts.length - 1);
          return createSecret(texts[place] ?? '');
        },
      });
    };

    test('is not sent again', async () => {
      const keys = guarded([KEY]);
      const { list, requests } = await startScriptedUpstream(inOrder(answers(401, {}), listed), { keys });
      await failureOf(list());

      expect(await failureOf(list())).toMatchObject({ kind: 'unauthorized', status: undefined });
      expect(requests).toHaveLength(1);
      expect(await keys.hasAnother()).toBe(false);
    });

    test('makes room for another one as soon as the secret holds it', async () => {
      const keys = guarded([KEY, KEY, 'a-new-key']);
      const { list, requests } = await startScriptedUpstream(inOrder(answers(401, {}), listed), { keys });
      await failureOf(list());

      expect(await keys.hasAnother()).toBe(true);
      await list();
      expect(requests.map(({ headers }) => headers['authorization'])).toEqual([
        `Bearer ${KEY}`,
        'Bearer a-new-key',
      ]);
    });
  });

  test('nothing is sent once another process may be sending', async () => {
    let mayItSend = true;
    const { list, requests } = await startScriptedUpstream(listed, { maySend: () => mayItSend });
    await list();
    mayItSend = false;

    expect((await failureOf(list())).kind).toBe('cancelled');
    expect(requests).toHaveLength(1);
  });

  describe('a call that its caller cancels', () => {
    test.each([
      ['before it was sent', listed, 0],
      ['while it waits for the answer', silent, 1],
      ['in the middle of the answer', stallsInTheBody, 1],
    ] as const)('%s is cancelled, and is not sent again', async (_when, script, requestCount) => {
      const stop = new AbortController();
      if (requestCount === 0) stop.abort();
      const { list, requests } = await startScriptedUpstream(
        (request, response) => {
          script(request, response);
          setTimeout(() => stop.abort(), 20);
        },
        { signal: stop.signal },
      );

      expect((await failureOf(list())).kind).toBe('cancelled');
      expect(requests).toHaveLength(requestCount);
    });

    test('while it waits to be sent again is cancelled', async () => {
      const stop = new AbortController();
      const { list, requests } = await startScriptedUpstream(
        (_request, response) => void response.writeHead(429).end(() => setImmediate(() => stop.abort())),
        { signal: stop.signal },
      );

      expect((await failureOf(list())).kind).toBe('cancelled');
      expect(requests.length).toBeLessThan(ATTEMPTS_MAX);
    });

    test('after the upstream has failed ends with that failure, which the caller would not hear of otherwise', async () => {
      const stop = new AbortController();
      const { list, requests } = await startScriptedUpstream(
        inOrder(answers(503, {}), () => stop.abort()),
        { signal: stop.signal },
      );

      expect(await failureOf(list())).toMatchObject({ kind: 'unavailable', status: 503 });
      expect(requests).toHaveLength(2);
    });
  });

  describe('what is sent', () => {
    test.each([
      '2022-12-09T08:47:52.20417Z',
      'dry-hall-87167252',
      'a&limit=1000#x?y=z',
      '1+1 %2B é 🙂',
      '/../../admin',
    ])('the cursor goes back as it came: %j', async (cursor) => {
      const { client, requests } = await startScriptedUpstream(
        answers(200, { operations: [ROW], pagination: { cursor } }),
      );
      const page = await client.listOperations({ projectId: PROJECT_ID, limit: 7 });
      await client.listOperations({
        projectId: PROJECT_ID,
        limit: 7,
        ...(page.cursor && { cursor: page.cursor }),
      });

      const url = requests[1]?.url;
      expect(Object.fromEntries(url?.searchParams ?? [])).toEqual({ limit: '7', cursor });
      expect(url?.pathname).toBe(`/api/v2/projects/${PROJECT_ID}/operations`);
    });

    test('a redirect is not followed: the key goes nowhere else', async () => {
      let seenElsewhere = 0;
      const elsewhere = await listen((_request, response) => {
        seenElsewhere += 1;
        response.end('{"operations":[]}');
      });
      const { list } = await startScriptedUpstream(answers(307, {}, { location: `${elsewhere}/api/v2/x` }));

      expect((await failureOf(list())).kind).toBe('network');
      expect(seenElsewhere).toBe(0);
    });

    test('an id that is missing at run time is not sent', async () => {
      const { client, requests } = await startScriptedUpstream(listed);
      const query = { projectId: undefined } as unknown as { projectId: string };

      expect((await failureOf(client.listOperations(query))).kind).toBe('rejected');
      expect(requests).toHaveLength(0);
    });
  });

  describe('what is taken from an answer', () => {
    test('another operation than the one asked for is refused', async () => {
      const { client } = await startScriptedUpstream(answers(200, { operation: { ...ROW, id: 'another' } }));
      const query = { projectId: PROJECT_ID, operationId: OPERATION_ID };

      expect((await failureOf(client.getOperation(query))).kind).toBe('malformed_answer');
    });

    test('an operation of another project is counted, not recorded here', async () => {
      const foreign = { ...ROW, id: 'foreign', project_id: 'another-project-1' };
      const { list } = await startScriptedUpstream(answers(200, { operations: [ROW, foreign] }));

      expect(await list()).toMatchObject({ operations: [{ id: OPERATION_ID }], malformedRowCount: 1 });
    });

    test.each([[7], ['x'.repeat(1_001)], [{}]])(
      'a cursor that cannot go back is no end of the list: %#',
      async (cursor) => {
        const { list } = await startScriptedUpstream(
          answers(200, { operations: [ROW], pagination: { cursor } }),
        );

        expect((await failureOf(list())).kind).toBe('malformed_answer');
      },
    );

    test.each([undefined, null, {}, { cursor: null }, { cursor: '' }])(
      'the list ends where there is no cursor: %j',
      async (pagination) => {
        const { list } = await startScriptedUpstream(answers(200, { operations: [ROW], pagination }));

        expect((await list()).cursor).toBeUndefined();
      },
    );
  });

  describe('the key', () => {
    /** Plays the worst upstream: it sends back everything that it was sent. */
    const echoes =
      (status: number): Script =>
      (request, response) => {
        const message = `refused: ${JSON.stringify(request.headers)}`;
        response.writeHead(status, { 'x-request-id': request.headers.authorization ?? '' });
        response.end(JSON.stringify({ message, authorization: request.headers.authorization }));
      };
    const scripts: Readonly<Record<UpstreamErrorKind, Script>> = {
      unauthorized: echoes(401),
      forbidden: echoes(403),
      not_found: echoes(404),
      locked: echoes(423),
      rate_limited: echoes(429),
      unavailable: echoes(503),
      rejected: echoes(400),
      malformed_answer: echoes(200),
      network: hangsUp,
      timeout: silent,
      cancelled: listed,
    };

    test.each(Object.entries(scripts))('is in no error of kind %s', async (kind, script) => {
      const signal = kind === 'cancelled' ? AbortSignal.abort(new Error(KEY)) : undefined;
      const { list } = await startScriptedUpstream(script, {
        ...(kind === 'timeout' && { timeoutMs: 60 }),
        ...(signal && { signal }),
      });
      const error = await failureOf(list());

      expect(error.kind).toBe(kind);
      expect(everythingOf(error)).not.toContain(KEY);
    });

    test('that no header can carry is refused before it is sent, after one fresh read', async () => {
      let refreshCount = 0;
      const secret = createSecret(`${KEY}\nx-other: 1`);
      const keys: KeySource = {
        current: async () => secret,
        refresh: async () => {
          refreshCount += 1;
          return secret;
        },
      };
      const { list, requests } = await startScriptedUpstream(listed, { keys });
      const error = await failureOf(list());

      expect([error.kind, refreshCount, requests.length]).toEqual(['unauthorized', 1, 0]);
      expect(everythingOf(error)).not.toContain(KEY);
    });

    test('that cannot be read is the failure of its source, and nothing is sent', async () => {
      const failed = new Error('the secret is out of reach');
      const keys: KeySource = {
        current: () => Promise.reject(failed),
        refresh: () => Promise.reject(failed),
      };
      const { list, requests } = await startScriptedUpstream(listed, { keys });

      await expect(list()).rejects.toBe(failed);
      expect(requests).toHaveLength(0);
    });

    function everythingOf(error: Error): string {
      const seen = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true });
      return [seen, JSON.stringify(error), error.stack, inspect(error.cause)].join('\n');
    }
  });

  test("the upstream's words are one line of 200 characters", async () => {
    const message = `first\r\nsecond\u2028third\u001b[31m${'🙂'.repeat(200)}`;
    const { list } = await startScriptedUpstream(answers(400, { message }));
    const error = await failureOf(list());

    expect(error.message).toMatch(
      /^GET \/projects\/\{project_id\}\/operations answered 400: first {2}second third/,
    );
    expect(error.message).not.toMatch(/[\p{Cc}\p{Zl}]/u);
    expect(error.message.length).toBeLessThan(300);
    expect(error.message.isWellFormed()).toBe(true);
  });
});
