/**
 * Tests the API as Lambda calls it: events of an HTTP API with payload format 2.0 come in, and answers of that format
 * go out.
 */

import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { handle } from 'hono/aws-lambda';
import { describe, expect, test } from 'vitest';
import { ON_LAMBDA } from '../../functions/api/serving/app.ts';
import { signInSettings } from '../../shared/config/api-config.ts';
import { ANSWER_BYTES_MAX } from '../../shared/upstream/forward.ts';
import { type ApiOptions, createApiUnderTest } from './api-under-test.ts';
import { createUpstreamDouble } from './upstream-double.ts';

function anEvent(
  method: string,
  path: string,
  fields: Partial<APIGatewayProxyEventV2> = {},
): APIGatewayProxyEventV2 {
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: '',
    headers: {},
    isBase64Encoded: false,
    ...fields,
    requestContext: {
      accountId: '123456789012',
      apiId: 'api',
      domainName: 'api.example',
      domainPrefix: 'api',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
      requestId: 'r',
      routeKey: '$default',
      stage: '$default',
      time: '15/Jan/2026:12:00:00 +0000',
      timeEpoch: 0,
    },
  };
}

async function setUp(
  options: Partial<ApiOptions> = {},
  answer: () => Response = () => Response.json({ ok: true }),
) {
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
    ...options,
  });
  const invoke = handle(api.app, ON_LAMBDA) as (event: unknown) => Promise<{
    statusCode: number;
    body: string;
    headers: Record<string, string>;
    isBase64Encoded: boolean;
  }>;
  return { upstream, api, invoke, authorization: `Bearer ${await api.issueToken()}` };
}

const SIGN_IN = signInSettings.parse({
  issuer: 'https://login.example.com',
  client_id: 'the-console',
  base_url: 'https://bridge.example.com',
  account_id: 'main',
  roles: [{ value: 'admins', scopes: ['commands:approve'] }],
});

const DOWNLOAD =
  '/api/v2/projects/bold-sound-12345678/branches/br-dawn-scene-747675/buckets/a/objects/b/download';
const OCTETS = { 'content-type': 'application/octet-stream' };

/** AWS Lambda quotas: the response of a synchronous invocation. */
const LAMBDA_ANSWER_BYTES_MAX = 6 * 1_024 * 1_024;

const KEYS = '/api/v2/projects/auth/keys';
const body = JSON.stringify({ project_id: 'bold-sound-12345678', auth_provider: 'stack' });

describe('behind an HTTP API', () => {
  test.each([
    ['its own address', {}, 'https://api.example/console/approvals'],
    [
      'the address at which people sign in',
      { signIn: SIGN_IN },
      'https://bridge.example.com/console/approvals',
    ],
  ] as const)(
    'a call that needs approval leads to %s, whatever host the caller names',
    async (_to, options, link) => {
      const { api, invoke } = await setUp(options);
      const authorization = `Bearer ${await api.issueToken({ approve: ['DELETE /projects/*'] })}`;
      const path = '/api/v2/projects/bold-sound-12345678';
      const headers = { authorization, host: 'evil.example', 'x-forwarded-host': 'evil.example' };

      const answer = await invoke(anEvent('DELETE', path, { headers }));

      expect(answer.statusCode).toBe(403);
      const { approval, detail } = JSON.parse(answer.body);
      expect(approval.console).toBe(link);
      expect(detail).toContain(`at ${link}, on Slack`);
      expect(answer.body).not.toContain('evil');
    },
  );

  test('a read is answered', async () => {
    const { upstream, invoke, authorization } = await setUp();

    const answer = await invoke(
      anEvent('GET', '/api/v2/projects', { rawQueryString: 'limit=7', headers: { authorization } }),
    );

    expect(answer).toMatchObject({ statusCode: 200, body: '{"ok":true}', isBase64Encoded: false });
    expect(upstream.sent[0]?.url).toBe('https://upstream.example/api/v2/projects?limit=7');
  });

  test.each([
    ['as text', body, false],
    ['in base64', Buffer.from(body).toString('base64'), true],
  ])('a body comes %s', async (_name, sent, isBase64Encoded) => {
    const { upstream, invoke, authorization } = await setUp();
    const headers = { authorization, 'content-type': 'application/json' };

    const answer = await invoke(anEvent('POST', KEYS, { headers, body: sent, isBase64Encoded }));

    expect([answer.statusCode, upstream.sent[0]?.body]).toEqual([200, body]);
  });

  test('a large body is refused by its real bytes, whatever its length is said to be', async () => {
    const { upstream, invoke, authorization } = await setUp();
    const headers = { authorization, 'content-type': 'application/json', 'content-length': '10' };

    const answer = await invoke(anEvent('POST', KEYS, { headers, body: `{"a":"${'x'.repeat(300_000)}"}` }));

    expect([answer.statusCode, upstream.sent]).toEqual([413, []]);
  });

  test('the largest file that is passed on fits into the answer of a function', async () => {
    const file = () => new Response(new Uint8Array(ANSWER_BYTES_MAX), { headers: OCTETS });
    const { invoke, authorization } = await setUp({}, file);

    const answer = await invoke(anEvent('GET', DOWNLOAD, { headers: { authorization } }));

    expect([answer.statusCode, answer.isBase64Encoded]).toEqual([200, true]);
    expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(LAMBDA_ANSWER_BYTES_MAX);
  });

  test.each(['text/csv', 'text/plain; charset=iso-8859-1', 'application/octet-stream'])(
    'a file of %s comes byte by byte, also when it is no UTF-8',
    async (type) => {
      const bytes = Buffer.from('name;caf\u00e9', 'latin1');
      const file = () => new Response(bytes, { headers: { 'content-type': type } });
      const { invoke, authorization } = await setUp({}, file);

      const answer = await invoke(anEvent('GET', DOWNLOAD, { headers: { authorization } }));

      expect(answer).toMatchObject({ statusCode: 200, isBase64Encoded: true });
      expect(Buffer.from(answer.body, 'base64')).toEqual(bytes);
    },
  );

  test('a header that looks like the context identifies no caller', async () => {
    const { invoke } = await setUp();
    const headers = {
      'x-amzn-request-context': '{"authorizer":{"iam":{"userId":"admin"}}}',
      'lambda-runtime-aws-request-id': 'x',
    };

    expect((await invoke(anEvent('GET', '/api/v2/projects', { headers }))).statusCode).toBe(401);
  });
});
