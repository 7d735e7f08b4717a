/**
 * What strangers and callers can have sent to them: the documentation is made once, compressed and bounded, and other answers are
 * compressed when that is worth it. Events of an HTTP API of API Gateway come in, and its answers go out.
 */

import { gunzipSync } from 'node:zlib';
import { handle } from 'hono/aws-lambda';
import { describe, expect, test } from 'vitest';
import { ON_LAMBDA } from '../../../functions/api/serving/app.ts';
import { createApiUnderTest, listen } from '../../api/api-under-test.ts';
import { createUpstreamDouble } from '../../api/upstream-double.ts';

const DOCUMENT = '/bridge/v1/openapi.json';
const PAGE = '/bridge/v1/docs';
const GZIP = { 'accept-encoding': 'gzip, deflate, br' };

interface LambdaAnswer {
  readonly statusCode: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly isBase64Encoded: boolean;
}

const LONG = { projects: Array.from({ length: 500 }, (_, place) => ({ id: `project-${place}` })), text: 'ü' };

async function setUp(upstreamAnswer: () => Response = () => Response.json(LONG)) {
  let nowMs = Date.parse('2026-01-15T12:00:00Z');
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble(upstreamAnswer).fetch,
    clock: { now: () => nowMs, sleep: () => new Promise(() => {}) },
  });
  const serve = handle(api.app, ON_LAMBDA) as (event: unknown) => Promise<LambdaAnswer>;
  const authorization = `Bearer ${await api.issueToken()}`;
  return {
    api,
    wait: (ms: number) => {
      nowMs += ms;
    },
    get: (path: string, headers: Record<string, string> = {}) =>
      serve({
        version: '2.0',
        routeKey: '$default',
        rawPath: path,
        rawQueryString: '',
        headers,
        isBase64Encoded: false,
        requestContext: {
          domainName: 'api.example',
          requestId: 'r',
          http: { method: 'GET', path, sourceIp: '192.0.2.1' },
        },
      }),
    authorization,
  };
}

/** What goes over the wire. */
const bytesOf = ({ body, isBase64Encoded }: LambdaAnswer) =>
  Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');

/** The text as a client sees it. */
function textOf(answer: LambdaAnswer): string {
  const bytes = bytesOf(answer);
  return (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
}

describe.each([
  [DOCUMENT, 1_000_000, 60_000],
  [PAGE, 600_000, 100_000],
])('%s', (path, plainMin, gzippedMax) => {
  test('is sent compressed to who accepts it, and is the same text', async () => {
    const { get } = await setUp();
    const [plain, gzipped] = [await get(path), await get(path, GZIP)];

    expect(plain.statusCode).toBe(200);
    expect(gzipped).toMatchObject({ statusCode: 200, isBase64Encoded: true });
    expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(textOf(gzipped)).toBe(textOf(plain));
    expect(bytesOf(plain).length).toBeGreaterThan(plainMin);
    expect(bytesOf(gzipped).length).toBeLessThan(gzippedMax);
  });

  test('is not sent again to who has it', async () => {
    const { get } = await setUp();
    const { etag = '', 'cache-control': caching } = (await get(path)).headers;
    const again = await get(path, { ...GZIP, 'if-none-match': `"other", ${etag}` });
    const other = await get(path, { 'if-none-match': '"other"' });

    expect(caching).toBe('no-cache');
    expect(again).toMatchObject({ statusCode: 304, body: '', headers: { etag } });
    expect(other.statusCode).toBe(200);
  });

  test('costs a bounded number of bytes a minute, and takes nothing from callers', async () => {
    const { get, wait, authorization } = await setUp();
    const perMinute = async (headers: Record<string, string>) => {
      let bytes = 0;
      for (let asked = 0; asked < 1_000 && bytes < 20_000_000; asked++) {
        const answer = await get(path, headers);
        if (answer.statusCode !== 200) return { bytes, answer };
        bytes += bytesOf(answer).length;
      }
      throw new Error(`${bytes} bytes were sent within a minute`);
    };
    const plain = await perMinute({});
    const { etag = '' } = (await get(path, { 'if-none-match': '*' })).headers;

    expect(plain.bytes).toBeLessThanOrEqual(6_000_000);
    expect(plain.answer.statusCode).toBe(429);
    expect(JSON.parse(plain.answer.body)).toMatchObject({ detail: expect.stringContaining('accept gzip') });
    expect((await get(path, { 'if-none-match': etag })).statusCode).toBe(304);
    expect((await get('/api/v2/projects', { authorization })).statusCode).toBe(200);

    wait(Number(plain.answer.headers['retry-after']) * 1_000);
    expect((await get(path)).statusCode).toBe(200);
    wait(60_000);
    expect((await perMinute(GZIP)).bytes).toBeLessThanOrEqual(6_000_000);
  });
});

describe('the answers of the API and of the console', () => {
  test('are compressed when they are long and the client accepts it', async () => {
    const { get, authorization } = await setUp();
    const plain = await get('/api/v2/projects', { authorization });
    const gzipped = await get('/api/v2/projects', { authorization, ...GZIP });

    expect(JSON.parse(plain.body)).toEqual(LONG);
    expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' });
    expect(textOf(gzipped)).toBe(plain.body);
    expect(bytesOf(gzipped).length).toBeLessThan(bytesOf(plain).length / 2);

    const style = /href="([^"]+\.css)"/.exec(textOf(await get('/console')))?.[1] ?? '';
    const [plainStyle, gzippedStyle] = [await get(style), await get(style, GZIP)];
    expect(gzippedStyle.headers['content-encoding']).toBe('gzip');
    expect(textOf(gzippedStyle)).toBe(textOf(plainStyle));
  });

  test.each([
    ['nothing', {}],
    ['gzip with the weight 0', { 'accept-encoding': 'gzip;q=0, *;q=0.5' }],
    ['another encoding', { 'accept-encoding': 'br' }],
  ])('are sent as they are to a client that accepts %s', async (_what, headers) => {
    const { get, authorization } = await setUp();
    const answer = await get('/api/v2/projects', { authorization, ...headers });

    expect(answer).toMatchObject({ isBase64Encoded: false, headers: { vary: 'Accept-Encoding' } });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(answer.body)).toEqual(LONG);
  });

  test('say over HTTP, where the server has a class of answers of its own, on what they depend', async () => {
    const { api, authorization } = await setUp();
    const answer = await fetch(`${await listen(api)}/api/v2/projects`, {
      headers: { authorization, 'accept-encoding': 'identity' },
    });

    expect(answer.headers.get('vary')).toBe('Accept-Encoding');
    expect(await answer.json()).toEqual(LONG);
  });

  test('are sent as they are when they are short, and when they are no text', async () => {
    const short = await setUp(() => Response.json({ ok: true }));
    const image = await setUp(
      () => new Response(new Uint8Array(5_000), { headers: { 'content-type': 'image/png' } }),
    );
    const answers = [
      await short.get('/api/v2/projects', { authorization: short.authorization, ...GZIP }),
      await image.get('/api/v2/projects', { authorization: image.authorization, ...GZIP }),
    ];

    expect(answers.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, undefined]);
    expect(answers[0]?.body).toBe('{"ok":true}');
    expect(Buffer.from(answers[1]?.body ?? '', 'base64')).toEqual(Buffer.alloc(5_000));
  });
});
