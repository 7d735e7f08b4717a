/** Tests what an application meets on the wire when it changes only its base URL and its key. */

import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ANSWER_BYTES_MAX } from '../../shared/upstream/forward.ts';
import { createApiUnderTest } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

async function openApi(answer: () => Response = () => Response.json({ projects: [], operations: [] })) {
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'the-key-of-the-account',
    fetch: upstream.fetch,
  });
  const authorization = `Bearer ${await api.issueToken()}`;
  const send = (path: string, { headers, ...init }: Request = {}) =>
    api.app.request(path, { ...init, headers: { authorization, ...headers } });
  return { send, app: api.app, received: upstream.sent };
}

test.each(['/api/v2/projects', `/api/v2/projects/${PROJECT_ID}/operations`, '/api/v2/projects/shared'])(
  'an empty cursor of %s is none',
  async (path) => {
    const { send, received } = await openApi();

    expect((await send(`${path}?limit=10&cursor=`)).status).toBe(200);
    expect(received[0]?.url).toBe(`https://upstream.example${path}?limit=10`);
  },
);

test('an unknown call is 401 without a token, and 404 with one', async () => {
  const { send, app } = await openApi();

  expect((await app.request('/api/v2/moons')).status).toBe(401);
  const answer = await send('/api/v2/moons');
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('call-unknown')]);
});

test.each([
  ['DELETE', '/bridge/v1/projects', 'GET, HEAD'],
  ['PUT', '/bridge/v1/mutes', 'GET, HEAD, POST'],
])('%s %s is 405, and says which methods the path takes', async (method, path, allow) => {
  const { send } = await openApi();
  const answer = await send(path, { method });

  expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
  expect(await answer.json()).toMatchObject({ detail: expect.stringContaining(`takes ${allow}`) });
});

test('a compressed body is refused by the name of its encoding, and nothing is sent', async () => {
  const { send, received } = await openApi();
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const body = gzipSync('{"branch":{"name":"dev"}}');
  const answer = await send(`/api/v2/projects/${PROJECT_ID}/branches`, { method: 'POST', headers, body });

  expect(answer.status).toBe(415);
  expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('content-encoding') });
  expect(received).toEqual([]);
});

test('an answer that is too large is named as such', async () => {
  const { send } = await openApi(() => new Response(new Uint8Array(ANSWER_BYTES_MAX + 1)));
  const answer = await send('/api/v2/projects');

  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({
    detail: `The answer of the upstream has more than ${ANSWER_BYTES_MAX} bytes, which is the most that is passed on. Ask for a smaller part of it, for example with limit.`,
  });
});

test.each([
  ['neonctl v5.0.1', 'operations-bridge neonctl v5.0.1'],
  [`a${'b'.repeat(300)}`, `operations-bridge a${'b'.repeat(199)}`],
  [undefined, 'operations-bridge'],
])('the upstream learns that the application is %j', async (userAgent, expected) => {
  const { send, received } = await openApi();
  const headers: Record<string, string> = userAgent === undefined ? {} : { 'user-agent': userAgent };
  await send('/api/v2/projects', { headers });
  await send(`/api/v2/projects/${PROJECT_ID}`, { method: 'DELETE', headers });

  expect(received.map((request) => request.headers.get('user-agent'))).toEqual([expected, expected]);
});

test('every answer has a request id: the upstream’s own, or the bridge’s', async () => {
  const { send } = await openApi(() =>
    Response.json({ projects: [] }, { headers: { 'x-request-id': 'upstream-1' } }),
  );
  expect((await send('/api/v2/projects')).headers.get('x-request-id')).toBe('upstream-1');

  const branches = `/api/v2/projects/${PROJECT_ID}/branches`;
  const queued = await send(branches, { method: 'POST', headers: { prefer: 'respond-async' } });
  expect(queued.status).toBe(202);
  expect(queued.headers.get('x-request-id')).toBe(queued.headers.get('bridge-request-id'));
});
