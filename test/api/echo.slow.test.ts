/**
 * Tests that calls arrive at the upstream as they were sent, and that its answers come back byte for byte: thousands of
 * requests, at random from a seed, go over HTTP through the bridge to an upstream that notes what it gets.
 */

import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Route } from '../../functions/api/serving/route.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { readBounded } from '../../shared/runtime/foreign-text.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { createApiUnderTest, listen } from './api-under-test.ts';
import { oneOf, type RandomRequest, randomRequest, spelled } from './described-answers/random-requests.ts';
import { hastyClock } from './passing-clock.ts';
import { PROJECT_ID } from './sample-requests.ts';

const SEED = 46;
const REQUESTS_PER_CALL = 30;
const BYTES_MAX = 10_000_000;

/** Every request has these headers. */
const HEADERS = {
  prefer: 'wait=0',
  'user-agent': 'an-app/1.0',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  cookie: 'a=b',
};

interface Message {
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

interface Given {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Starts the upstream. It answers with `next`, and `got` holds what has arrived. */
async function startEchoing(next: () => Given) {
  const got: Message[] = [];
  const server = createServer((message, response) => {
    void readBounded(message, BYTES_MAX).then((body) => {
      const { url = '', method = '', headers } = message;
      got.push({ url, method, headers, body });
      const { status, contentType, bytes } = next();
      const hasBody = status !== 204;
      response.writeHead(status, hasBody ? { 'content-type': contentType } : {}).end(hasBody ? bytes : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2` };
}

function randomAnswer(random: Random): Given {
  const status = oneOf(
    [200, 200, 200, 201, 202, 204, 400, 403, 404, 409, 412, 422, 423, 429, 500, 503],
    random,
  );
  const rows = Array.from({ length: 3 }, (_, row) => ({
    id: `row-${row}`,
    note: 'caf\u00e9 / 😀',
    size: 1.5,
  }));
  const json = spelled({ rows, message: 'as it was written', further: { of: [true, null] } }, random);
  const twice = json.replace(/\}\s*$/, ',"message":"twice"}');
  const contents: readonly (readonly [string, Buffer])[] = [
    ['application/json', Buffer.from(json)],
    ['application/json; charset=utf-8', Buffer.from(twice)],
    ['text/plain', Buffer.from('plain\r\nwords')],
    ['text/html', Buffer.from('<p>a page</p>')],
    ['application/octet-stream', Buffer.from([0, 255, 254, 13, 10, 128, 200])],
  ];
  const [contentType, bytes] = oneOf(contents, random);
  return { status, contentType, bytes };
}

interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
}

/** `fetch` would write another path than it was given, so this goes without it. */
function send(origin: string, agent: Agent, { url, method, headers, body }: RandomRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Node sends the length of the body of a DELETE only when it is told.
    const length = body !== undefined && { 'content-length': Buffer.byteLength(body) };
    const options = { agent, method, path: url, headers: { ...headers, ...length } };
    const sent = httpRequest(`${origin}/`, options, (message) => {
      const { statusCode: status = 0 } = message;
      const contentType = message.headers['content-type'];
      readBounded(message, BYTES_MAX).then((bytes) => {
        resolve({ status, contentType, text: textOf(bytes) });
      }, reject);
    });
    sent.on('error', reject).end(body);
  });
}

/** Every byte becomes a character of its own. */
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

/** A server resolves `..` in a path, as most clients do. */
const urlOf = (url: string) => new URL(url, 'https://bridge.example');
const segmentsOf = (url: string) => urlOf(url).pathname.split('/');
const decodedPathOf = (url: string) => segmentsOf(url).map(decodeURIComponent).join('/');

/** An empty cursor is none. */
const pairsOf = (url: string) =>
  [...urlOf(url).searchParams]
    .map(String)
    .filter((pair) => pair !== 'cursor,')
    .toSorted()
    .join('&');

/** A form is sent on as JSON, and an empty object is none where the call takes no body. */
function isSameBody({ headers, body = '' }: RandomRequest, sent: string, route: Route): boolean {
  if (headers['content-type'] === 'application/x-www-form-urlencoded' || body === sent) return true;
  return route.body === undefined && sent === '' && /^\s*\{\s*\}\s*$/.test(body);
}

/** Names what of the call has changed on its way. */
function changesOf(asked: RandomRequest, got: Message, route: Route): readonly string[] {
  const { authorization, cookie, traceparent, 'user-agent': userAgent } = got.headers;
  const isKept = {
    method: asked.method === got.method,
    path: decodedPathOf(asked.url) === decodedPathOf(got.url),
    query: pairsOf(asked.url) === pairsOf(got.url),
    body: isSameBody(asked, got.body.toString(), route),
    'user-agent': userAgent === `operations-bridge ${HEADERS['user-agent']}`,
    traceparent: traceparent === HEADERS.traceparent,
    credentials: authorization === 'Bearer the-key' && cookie === undefined,
  };
  return Object.entries(isKept).flatMap(([part, isSame]) => (isSame ? [] : [`${part} changed`]));
}

async function setUp() {
  const random = seededRandom(SEED);
  let given = randomAnswer(random);
  const { got, baseUrl } = await startEchoing(() => given);
  const api = createApiUnderTest({
    upstreamBaseUrl: baseUrl,
    upstreamKey: 'the-key',
    clock: hastyClock(500),
  });
  const origin = await listen(api);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const scopes = SCOPES.filter((scope) => scope !== 'secrets:read');
  const tokens = [
    await api.issueToken({ validForMs: 5e9 }),
    await api.issueToken({ validForMs: 5e9, scopes, client_id: 'without-secrets' }),
  ];
  const routes = await api.routes();
  const ids = { project_id: [PROJECT_ID], role_name: ["o'neil (1)@x"], database_name: ['née', 'a&b=c'] };
  const ask = async (route: Route) => {
    got.length = 0;
    given = randomAnswer(random);
    const made = randomRequest(route, ids, random);
    const { 'idempotency-key': _, ...headers } = made.headers;
    const authorization = `Bearer ${oneOf(tokens, random)}`;
    const url = made.url.replace(/[^\x21-\x7e]/g, encodeURIComponent);
    const asked = { ...made, url, headers: { ...headers, ...HEADERS, authorization } };
    return { asked, answer: await send(origin, agent, asked), given, got };
  };
  return { ask, calls: routes.filter(({ group }) => group === 'Upstream API') };
}

type Exchange = Awaited<ReturnType<Awaited<ReturnType<typeof setUp>>['ask']>>;

/** A path with `..` in it is that of another call, or of none. */
const isTo = ({ path }: Route, { url }: RandomRequest) => segmentsOf(url).length === path.split('/').length;

/** Names what is wrong with an exchange of which the upstream has got `got`. */
function faultsOf(route: Route, { asked, answer, given, got }: Exchange): readonly string[] {
  const [message, ...more] = got;
  const { status, text, contentType } = answer;
  if (message === undefined) {
    const isRefusal = status < 500 && contentType === 'application/problem+json';
    return isRefusal ? [] : ['is no refusal'];
  }
  const expected = given.status === 204 ? '' : textOf(given.bytes);
  return [
    ...changesOf(asked, message, route),
    ...(more.length > 0 ? ['was sent again'] : []),
    ...(status === given.status ? [] : [`${given.status} became ${status}`]),
    ...(text === expected ? [] : [`${expected} came back as ${text}`]),
  ];
}

test('5,000 calls arrive as they were sent, and their answers come back byte for byte', {
  timeout: 600_000,
}, async () => {
  const { ask, calls } = await setUp();
  const faults: string[] = [];
  const counts = { passed: 0, refused: 0 };
  for (let round = 0; round < REQUESTS_PER_CALL; round++) {
    for (const route of calls) {
      const exchange = await ask(route);
      if (!isTo(route, exchange.asked)) continue;
      counts[exchange.got.length > 0 ? 'passed' : 'refused'] += 1;
      for (const fault of faultsOf(route, exchange))
        faults.push(`${route.id}: ${fault}: ${JSON.stringify(exchange).slice(0, 1_000)}`);
    }
  }

  if (process.env['SHOW_ANSWERS']) console.log(counts);
  expect(faults).toEqual([]);
  expect(counts.passed + counts.refused).toBeGreaterThanOrEqual(5_000);
  expect(counts.passed).toBeGreaterThan(2_000);
  expect(counts.refused).toBeGreaterThan(1_000);
});
