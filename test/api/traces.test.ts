/**
 * Tests that refusals, sessions and reads of secrets leave one log line and one count each, and an audit record where
 * one will be asked for.
 */

import { describe, expect, test } from 'vitest';
import { tokenIdOf } from '../../shared/callers/tokens.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const SECRET = 'a-password-of-the-mail-server';
const MAIL_SERVER = `/api/v2/projects/${PROJECT_ID}/auth/email_server`;

/** This call was not declared to stay within one project. */
const ACCOUNT_WIDE = {
  id: 'listRegions',
  method: 'GET',
  path: '/regions',
  summary: 'List regions',
  scope: 'projects:read',
};

function setUp(
  options: {
    readonly accountSettings?: object;
    readonly isTableDown?: () => boolean;
    readonly isStatusDown?: boolean;
  } = {},
) {
  const counted: string[] = [];
  const measured: string[] = [];
  const upstream = createUpstreamDouble(({ url }) =>
    Response.json(url.includes('email_server') ? { host: 'h', password: SECRET } : { projects: [] }),
  );
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: upstream.fetch,
    extraRoutes: [ACCOUNT_WIDE],
    ...(options.accountSettings && { accountSettings: options.accountSettings }),
    wrapTable: (table) => ({
      ...table,
      get: async (key) => {
        if (options.isStatusDown && key.pk === `A#${ACCOUNT_ID}`)
          throw new RangeError('a-value is too large');
        return table.get(key);
      },
      update: async (update) => {
        if (options.isTableDown?.() && update.key.pk.startsWith('AUDIT#'))
          throw new Error('the table is down');
        return table.update(update);
      },
    }),
    onMeasure: (metric, value, name) => {
      measured.push(metric);
      if (/^(ApiRefusals|ApiAccesses|AuditFailed)$/.test(metric))
        counted.push(`${metric} ${value} ${name ?? ''}`);
    },
  });
  const call = async (path: string, token?: string) =>
    api.app.request(path, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  const form = async (path: string, fields: Readonly<Record<string, string>>, cookie = '') =>
    api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
      body: new URLSearchParams(fields).toString(),
    });
  const linesOf = (event: string) => api.logged.filter((line) => line.event === event);
  const audited = () =>
    api.memory.sync
      .items()
      .filter((item) => item['kind'] === 'audit')
      .map((item) => [item['call'], item['client_id'], item['outcome'], item['status']]);
  return { api, counted, measured, call, form, linesOf, audited };
}

describe('a refusal is logged once and counted once by its reason', () => {
  const cases: readonly [
    string,
    number,
    TokenOptions | undefined,
    (call: ReturnType<typeof setUp>['call'], token?: string) => Promise<Response>,
  ][] = [
    ['unauthenticated', 401, undefined, (call) => call('/api/v2/projects')],
    ['unauthenticated', 401, { validForMs: -1 }, (call, token) => call('/api/v2/projects', token)],
    ['scope-missing', 403, { scopes: ['auth:read'] }, (call, token) => call('/api/v2/projects', token)],
    ['project-hidden', 404, { project_ids: ['another-1'] }, (call, token) => call(MAIL_SERVER, token)],
    ['account-wide', 403, { project_ids: [PROJECT_ID] }, (call, token) => call('/api/v2/regions', token)],
  ];

  test.each(cases)('%s (%i)', async (reason, status, token, ask) => {
    const { api, counted, measured, call, linesOf } = setUp();
    const text = token && (await api.issueToken(token));

    const answer = await ask(call, text);

    expect(answer.status).toBe(status);
    expect(counted).toEqual([`ApiRefusals 1 ${reason}`]);
    expect(measured.includes('TokensRefused')).toBe(reason === 'unauthenticated');
    const [line, ...others] = linesOf('request.refused');
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      level: 'warn',
      reason,
      request_id: answer.headers.get('bridge-request-id'),
    });
    expect(line?.['token_id']).toBe(text && tokenIdOf(text));
    expect(JSON.stringify(api.logged)).not.toContain(text ?? 'Bearer');
  });

  test('rate-limited (429)', async () => {
    const { api, counted, call, linesOf } = setUp({ accountSettings: { caller_requests_per_minute: 2 } });
    const token = await api.issueToken();

    const answers: Response[] = [];
    for (let count = 0; count < 30; count++) answers.push(await call('/api/v2/projects', token));

    const refused = answers.filter(({ status }) => status === 429).length;
    expect(refused).toBeGreaterThan(0);
    expect(counted).toEqual(Array(refused).fill('ApiRefusals 1 rate-limited'));
    expect(linesOf('request.refused')).toHaveLength(refused);
    expect(linesOf('request.refused')[0]).toMatchObject({ client_id: 'an-app', account_id: ACCOUNT_ID });
  });

  test('and what does not exist, or is not of the expected form, is no refusal', async () => {
    const { api, counted, call } = setUp();
    const token = await api.issueToken();

    const answers = [await call('/api/v2/nothing', token), await call('/api/v2/projects?limit=x', token)];

    expect(answers.map(({ status }) => status)).toEqual([404, 400]);
    expect(counted).toEqual([]);
  });
});

describe('a read that shows secrets', () => {
  test('is logged, counted and audited, and the secret is in none of these', async () => {
    const { api, counted, call, linesOf, audited } = setUp();
    const token = await api.issueToken();

    const answer = await call(MAIL_SERVER, token);

    expect(await answer.text()).toContain(SECRET);
    expect(counted).toEqual(['ApiAccesses 1 secret-read']);
    expect(linesOf('access.noted')).toMatchObject([
      { kind: 'secret-read', call: 'getEmailServer', client_id: 'an-app', token_id: tokenIdOf(token) },
    ]);
    expect(audited()).toEqual([['getEmailServer', 'an-app', 'done', 200]]);
    expect(JSON.stringify([api.logged, api.memory.sync.items()])).not.toContain(SECRET);
  });

  test('leaves no trace for a caller to whom they are not shown', async () => {
    const { api, counted, call, audited } = setUp();

    const answer = await call(MAIL_SERVER, await api.issueToken({ scopes: ['auth:read'] }));

    expect(await answer.text()).not.toContain(SECRET);
    expect([counted, audited()]).toEqual([[], []]);
  });

  test('is answered although the audit fails, which is counted', async () => {
    const { api, counted, call, linesOf } = setUp({ isTableDown: () => true });

    const answer = await call(MAIL_SERVER, await api.issueToken());

    expect(answer.status).toBe(200);
    expect(counted).toEqual(['ApiAccesses 1 secret-read', 'AuditFailed 1 ']);
    expect(linesOf('audit.failed')).toHaveLength(1);
  });
});

describe('a session of the console', () => {
  test('is logged, counted and audited when it begins and when it ends', async () => {
    const { api, counted, form, linesOf, audited } = setUp();
    const token = await api.issueToken();

    const begun = await form('/console/sign-in', { token, next: '/console' });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await (await api.app.request('/console', { headers: { cookie } })).text();
    const [, key = ''] = /name="form_key" value="([0-9a-f]+)"/.exec(page) ?? [];
    await form('/console/sign-out', { form_key: key }, cookie);

    expect(counted).toEqual(['ApiAccesses 1 signed-in', 'ApiAccesses 1 signed-out']);
    expect(linesOf('access.noted')).toMatchObject([
      { kind: 'signed-in', client_id: 'an-app', token_id: tokenIdOf(token) },
      { kind: 'signed-out', client_id: 'an-app', token_id: tokenIdOf(token) },
    ]);
    expect(audited()).toEqual([
      ['consoleSignIn', 'an-app', 'done', 303],
      ['consoleSignOut', 'an-app', 'done', 303],
    ]);
    expect(JSON.stringify(api.logged)).not.toContain(token);
  });

  test('that is refused, or asked to end by a foreign form, is a refusal', async () => {
    const { api, counted, form, linesOf } = setUp();
    const token = await api.issueToken({ validForMs: -1 });
    const begun = await form('/console/sign-in', { token: await api.issueToken(), next: '/console' });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';

    await form('/console/sign-in', { token, next: '/console' });
    await form('/console/sign-out', { form_key: 'made-up' }, cookie);

    expect(counted).toEqual([
      'ApiAccesses 1 signed-in',
      'ApiRefusals 1 sign-in-refused',
      'ApiRefusals 1 form-refused',
    ]);
    expect(linesOf('request.refused')).toMatchObject([
      { call: 'consoleSignIn', token_id: tokenIdOf(token) },
      { call: 'consoleSignOut', client_id: 'an-app' },
    ]);
    expect(JSON.stringify(api.logged)).not.toContain(token);
  });

  test('without the scope for a page is a refusal', async () => {
    const { api, counted, form } = setUp();
    const token = await api.issueToken({ scopes: ['auth:read'] });
    const begun = await form('/console/sign-in', { token, next: '/console' });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';

    await api.app.request('/console/events', { headers: { cookie } });
    await api.app.request('/console/audit', { headers: { cookie } });

    expect(counted).toEqual([
      'ApiAccesses 1 signed-in',
      'ApiRefusals 1 scope-missing',
      'ApiRefusals 1 scope-missing',
    ]);
  });

  test('without the scope for an action, or for a foreign project, is a refusal', async () => {
    const { api, counted, form } = setUp();
    const scopes = ['operations:read'] as const;
    const token = await api.issueToken({ scopes, project_ids: [PROJECT_ID] });
    const begun = await form('/console/sign-in', { token, next: '/console' });
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';
    const project = `/console/accounts/${ACCOUNT_ID}/projects`;

    await api.app.request(`${project}/${PROJECT_ID}/endpoints/ep-1/restart`, { headers: { cookie } });
    await api.app.request(`${project}/another-1`, { headers: { cookie } });

    expect(counted.slice(1)).toEqual(['ApiRefusals 1 scope-missing', 'ApiRefusals 1 project-hidden']);
  });
});

test('a page of the console that fails is logged by the name of its error, without its message', async () => {
  const { api, form, linesOf } = setUp({ isStatusDown: true });
  const begun = await form('/console/sign-in', { token: await api.issueToken(), next: '/console' });
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? '';

  const page = await api.app.request('/console', { headers: { cookie } });

  expect(page.status).toBe(500);
  expect(linesOf('console.failed')).toMatchObject([{ level: 'error', method: 'GET', reason: 'RangeError' }]);
  expect(JSON.stringify(linesOf('console.failed'))).not.toContain('a-value');
});
