/** Tests that people can mute alerts on the console and lift a mute, with the checks and the audit of the API. */

import { describe, expect, test } from 'vitest';
import { createConfiguredMutes } from '../../shared/alerts/mutes.ts';
import { createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';

const PAGE = '/console/mutes';
const PROJECT_ID = 'quiet-pond-12345678';

async function setUp(options: TokenOptions = {}) {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock: { now: () => Date.UTC(2026, 0, 15, 12), sleep: async () => {} },
  });
  let cookie = '';
  const submit = async (path: string, fields: Readonly<Record<string, string>>) => {
    const response = await api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie },
      body: new URLSearchParams(fields).toString(),
    });
    return {
      status: response.status,
      location: response.headers.get('location'),
      setCookie: response.headers.get('set-cookie'),
      text: await response.text(),
    };
  };
  const signedIn = await submit('/console/sign-in', {
    token: await api.issueToken(options),
    next: '/console',
  });
  cookie = signedIn.setCookie?.split(';')[0] ?? '';
  const get = async (path: string) => (await api.app.request(path, { headers: { cookie } })).text();
  const formKey = async () => /name="form_key" value="([^"]+)"/.exec(await get(PAGE))?.[1] ?? '';
  return { api, submit, get, formKey };
}

describe('mutes on the console', () => {
  test('of the configuration are shown without a button that lifts them', async () => {
    const { api, get } = await setUp();
    const [from, until] = ['2026-01-15T11:00:00Z', '2026-01-15T13:30:00Z'];
    await createConfiguredMutes(api.memory).keepConfigured([
      { project_ids: [PROJECT_ID, 'icy-hat-70322459'], from, until },
    ]);

    const page = await get(PAGE);

    expect(page).toMatch(
      /quiet-pond-12345678[\s\S]*icy-hat-70322459[\s\S]*13:30:00[\s\S]*the configuration, from/,
    );
    expect(page).not.toContain('/lift"');
  });

  test.each([
    ['2026-01-15T12:00:00Z', true],
    ['2026-01-15T12:00:01Z', false],
  ])(
    'of everything that the configuration names are told on every page once they have begun: from %s',
    async (from, isTold) => {
      const { api, get } = await setUp();
      const until = '2026-01-15T13:30:00Z';
      await createConfiguredMutes(api.memory).keepConfigured([{ from, until }]);

      expect((await get('/console/events')).includes('All alerts are muted')).toBe(isTold);
    },
  );

  test('are set with who, until when and why, shown, and lifted; both stand in the audit', async () => {
    const { api, submit, get, formKey } = await setUp({ client_id: 'mona' });
    const form_key = await formKey();

    const fields = {
      form_key,
      project_id: PROJECT_ID,
      action: 'start_compute',
      duration_seconds: '3600',
      reason: 'a <planned> move',
    };
    const muted = await submit(PAGE, fields);
    const listed = await get(PAGE);
    const lift = /action="(\/console\/mutes\/[^"]+\/lift)"/.exec(listed)?.[1] ?? '';
    const lifted = await submit(lift, { form_key });

    expect([muted.status, muted.location]).toEqual([303, PAGE]);
    expect(listed).toMatch(/start_compute in [\s\S]*quiet-pond-12345678/);
    expect(listed).toContain('13:00:00');
    expect(listed).toContain('in 1 h');
    expect(listed).toContain('a &lt;planned&gt; move');
    expect(listed).toContain('mona');
    expect([lifted.status, lifted.location]).toEqual([303, PAGE]);
    expect(await get(PAGE)).toContain('No alert is muted.');
    const audited = api.memory.sync
      .items()
      .flatMap((item) => (item['kind'] === 'audit' ? [item['call']] : []));
    expect(audited).toEqual(expect.arrayContaining(['muteAlerts', 'liftMute']));
  });

  test('are set once by a form that is sent twice, and again by the form of a later page', async () => {
    const { submit, get } = await setUp();
    const hidden = async () =>
      Object.fromEntries(
        [...(await get(PAGE)).matchAll(/type="hidden" name="(\w+)" value="([^"]+)"/g)].map(
          ([, name = '', value = '']) => [name, value],
        ),
      );
    const countMutes = async () => [...(await get(PAGE)).matchAll(/\/lift"/g)].length;
    const mute = { ...(await hidden()), duration_seconds: '3600', reason: 'a move' };

    const answers = [await submit(PAGE, mute), await submit(PAGE, mute)];

    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(await countMutes()).toBe(1);
    await submit(PAGE, { ...mute, ...(await hidden()) });
    expect(await countMutes()).toBe(2);
  });

  test('are refused with the sentence of the API when the place or the time is wrong', async () => {
    const { submit, formKey } = await setUp();

    const answer = await submit(PAGE, { form_key: await formKey(), duration_seconds: '1', reason: 'x' });

    expect(answer.text).toContain('The mute was answered with 400');
  });

  test('are not set by a form of another session, nor without the scope', async () => {
    const { submit, get } = await setUp();
    const reader = await setUp({ scopes: ['operations:read'] });

    expect((await submit(PAGE, { form_key: 'x', duration_seconds: '3600', reason: 'x' })).status).toBe(403);
    expect(await get(PAGE)).toContain('No alert is muted.');
    expect(await reader.get(PAGE)).toContain('needs the scope alerts:mute');
  });

  test('begin from the page of an operation, with its project and action filled in', async () => {
    const { get } = await setUp();

    const text = await get(`${PAGE}?project_id=${PROJECT_ID}&action=start_compute`);

    expect(text).toContain(`name="project_id" value="${PROJECT_ID}"`);
    expect(text).toContain('name="action" value="start_compute"');
  });
});
