/**
 * Tests an upstream, or a proxy in front of it, that repeats the request in its answer: no caller gets the account's
 * key.
 */

import { describe, expect, test } from 'vitest';
import { createApiUnderTest } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const KEY = 'napi_0123456789abcdefghij/+=';

const PATH = `/api/v2/projects/${PROJECT_ID}`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

const ANSWERS: readonly (readonly [string, () => Response])[] = [
  ['a success', () => Response.json({ headers: { authorization: `Bearer ${KEY}` } })],
  ['a refusal', () => Response.json({ message: `Bearer ${KEY}` }, { status: 404 })],
  ['a failure', () => new Response(`<pre>Authorization: Bearer ${KEY}</pre>`, { status: 500 })],
  ['a header', () => Response.json({}, { headers: { 'x-request-id': KEY } })],
  ['a URL', () => new Response(`curl https://h/?key=${encodeURIComponent(KEY)}`)],
  ['base64', () => new Response(base64(`Bearer ${KEY}`))],
  ['base64, one place on', () => new Response(base64(`xBearer ${KEY} and more`))],
  ['base64, two places on', () => new Response(base64(`xxBearer ${KEY}`))],
  ['bytes that are no UTF-8', () => new Response(Buffer.concat([Buffer.from([0xff]), Buffer.from(KEY)]))],
];

describe.each(ANSWERS)('an answer with the key in it as %s', (_name, answer) => {
  test.each([
    ['GET', `${PATH}/operations`],
    ['POST', `${PATH}/endpoints/ep-a/restart`],
  ])('to a %s is a 502, a log line and a metric', async (method, path) => {
    const measured: string[] = [];
    const upstream = createUpstreamDouble(answer);
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: KEY,
      fetch: upstream.fetch,
      onMeasure: (metric) => measured.push(metric),
    });
    const authorization = `Bearer ${await api.issueToken()}`;

    const response = await api.app.request(path, { method, headers: { authorization, prefer: 'wait=0' } });
    const shown = `${await response.text()}${JSON.stringify([...response.headers])}`;

    expect(response.status).toBe(502);
    expect(shown).not.toContain(KEY);
    expect(measured).toEqual(['KeyEchoed']);
    expect(api.logged.map(({ event }) => event)).toContain('upstream.key_echoed');
    expect(JSON.stringify([api.logged, api.memory.sync.items()])).not.toContain(KEY);
  });
});

test('an answer without the key is passed on', async () => {
  const upstream = createUpstreamDouble(() => Response.json({ operations: [] }));
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: KEY,
    fetch: upstream.fetch,
  });
  const authorization = `Bearer ${await api.issueToken()}`;

  expect((await api.app.request(`${PATH}/operations`, { headers: { authorization } })).status).toBe(200);
});

test.each(['text/html', 'image/svg+xml', 'text/html; charset=utf-8', 'application/xhtml+xml', undefined])(
  'an answer of the type %s cannot run as a page of ours',
  async (type) => {
    const headers = type === undefined ? new Headers() : new Headers({ 'content-type': type });
    const body = new TextEncoder().encode('<script>alert(1)</script>');
    const upstream = createUpstreamDouble(() => new Response(body, { headers }));
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: KEY,
      fetch: upstream.fetch,
    });
    const authorization = `Bearer ${await api.issueToken()}`;

    const response = await api.app.request(`${PATH}/operations`, { headers: { authorization } });

    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  },
);
