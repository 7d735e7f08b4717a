/** Tests the subscribe page as a browser uses it: the preview, the file, the download, and the test event. */

import { describe, expect, test } from 'vitest';
import { TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import { decideNextRecord } from '../../../shared/records/operation-record.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../../api/api-under-test.ts';
import { createUpstreamDouble } from '../../api/upstream-double.ts';
import { aContext, anOperation } from '../../builders.ts';

const clock = { now: () => Date.UTC(2026, 0, 15, 12, 0, 5), sleep: async () => {} };

async function setUp(options: TokenOptions = {}) {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const readings = [{ status: 'running' }, { status: 'failed', failures_count: 1 }];
  for (const reading of readings) {
    const operation = anOperation(reading);
    const recorded = await store.readOperation(operation.project_id, operation.id);
    const next = decideNextRecord(recorded, operation, { ...aContext(), nowMs: clock.now() });
    if (next !== undefined) await store.record(next, recorded?.revision);
  }
  const post = (path: string, fields: Readonly<Record<string, string>>, headers = {}) =>
    api.app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const token = await api.issueToken(options);
  const signedIn = await post('/console/sign-in', { token, next: '/console' });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = async (path: string) => {
    const answer = await api.app.request(path, { headers: { cookie } });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return { api, get, post: (path: string, fields: Record<string, string>) => post(path, fields, { cookie }) };
}

const unescaped = (text: string) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
const blockIn = (text: string, id: string) =>
  unescaped(new RegExp(`<pre id="${id}"[^>]*>([^<]*)<`).exec(text)?.[1] ?? '');
const fieldIn = (text: string, name: string) =>
  unescaped(
    new RegExp(`<form method="post" action="/console/subscribe/test">.*?name="${name}" value="([^"]*)"`).exec(
      text,
    )?.[1] ?? '',
  );

describe('the page', () => {
  test('shows how the last events would have done, and which', async () => {
    const { get } = await setUp();

    const { text } = await get('/console/subscribe?subject=failures');

    expect(text).toContain('It would have delivered 1 of the last 2 events.');
    expect(text).toContain('▲</span> failed');
    expect(text).toContain('aria-current="true">Subscriptions</a>');
  });

  test('has the complete file, and the same file to download', async () => {
    const { get } = await setUp();

    const { text } = await get(
      '/console/subscribe?subject=failures&target=sqs&form=terraform&name=my-failures',
    );
    const address = unescaped(/href="(\/console\/subscribe\/file\?[^"]*)"/.exec(text)?.[1] ?? '');
    const file = await get(address);

    expect(blockIn(text, 'file')).toContain('aws_cloudwatch_event_rule');
    expect(file.text).toBe(blockIn(text, 'file'));
    expect(file.headers.get('content-disposition')).toBe('attachment; filename="my-failures.tf"');
    expect(file.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  test('shows the name that follows from the choice without filling it in, so that it changes with the choice', async () => {
    const { get } = await setUp();

    const { text } = await get('/console/subscribe?subject=failures&name=');
    const named = await get('/console/subscribe?subject=failures&name=mine');

    expect(text).toContain('name="name" value="" placeholder="failures-sqs"');
    expect(named.text).toContain('name="name" value="mine" placeholder="failures-sqs"');
  });

  test('says what to change when the subscription cannot work, and has no file', async () => {
    const { get } = await setUp();

    const { text } = await get('/console/subscribe?subject=readyBranches&status=failed');

    expect(text).toContain('role="alert"');
    expect(text).not.toContain('id="file"');
    expect((await get('/console/subscribe/file?subject=readyBranches&status=failed')).status).toBe(404);
  });

  test('and the file need the scope to read operations', async () => {
    const { get } = await setUp({ scopes: ['projects:read'] });

    expect((await get('/console/subscribe')).status).toBe(403);
    expect((await get('/console/subscribe/file')).status).toBe(403);
  });
});

describe('the button for a test event', () => {
  const PAGE = '/console/subscribe?subject=failures&project=my-project-1&tests=on';

  test('publishes an event that the shown rule takes, and leads back to the page, which says so', async () => {
    const { api, get, post } = await setUp();
    const { text } = await get(PAGE);
    const fields = { form_key: fieldIn(text, 'form_key'), choice: fieldIn(text, 'choice') };

    const answer = await post('/console/subscribe/test', fields);

    expect(answer.status).toBe(303);
    const [event] = api.published;
    const detail = JSON.parse(event?.detail ?? '') as Record<string, unknown>;
    expect(event?.source).toBe(TEST_EVENT_SOURCE);
    expect(detail).toMatchObject({ project_id: 'my-project-1', account_id: 'main', new_failures: 1 });
    const rule = parseEventPattern(JSON.parse(blockIn(text, 'pattern')));
    expect(
      matchesEventPattern(rule, { source: event?.source, 'detail-type': event?.detailType, detail }),
    ).toBe(true);
    const after = await get(answer.headers.get('location') ?? '');
    expect(after.text).toContain(`has accepted the test event <code>${String(detail['id'])}</code>`);
    expect(blockIn(after.text, 'pattern')).toBe(blockIn(text, 'pattern'));
  });

  test.each([
    ['without the key of the session', { form_key: '00' }],
    ['for a subscription that cannot work', { choice: 'subject=accountHealth&project=a-1' }],
  ])('publishes nothing %s', async (_name, change) => {
    const { api, get, post } = await setUp();
    const { text } = await get(PAGE);
    const fields = { form_key: fieldIn(text, 'form_key'), choice: fieldIn(text, 'choice'), ...change };

    expect((await post('/console/subscribe/test', fields)).status).toBe(403);
    expect(api.published).toEqual([]);
  });

  test.each([
    ['the scope', { scopes: ['operations:read' as const] }],
    ['all projects', { project_ids: ['my-project-1'] }],
  ])(
    'is not offered to a visitor without %s, and a forged form publishes nothing',
    async (_name, options) => {
      const { api, get, post } = await setUp(options);
      const { text } = await get(PAGE);
      const form_key = /name="form_key" value="([0-9a-f]+)"/.exec(text)?.[1] ?? '';

      expect(text).toContain('that needs the scope events:trigger, for all projects');
      expect(text).not.toContain('Send a test event');
      expect((await post('/console/subscribe/test', { form_key, choice: 'subject=failures' })).status).toBe(
        403,
      );
      expect(api.published).toEqual([]);
    },
  );

  test('is not offered for a rule that would not take it', async () => {
    const { get } = await setUp();

    const { text } = await get('/console/subscribe?subject=failures');

    expect(text).toContain('takes no test events');
    expect(text).not.toContain('Send a test event');
  });
});
