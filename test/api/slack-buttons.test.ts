/** Presses the buttons that the notifier puts under an alert, as Slack sends a press: signed, and form-encoded. */

import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSlackChannel } from '../../functions/notifier/channels/slack.ts';
import type { Notice } from '../../functions/notifier/deciding/notice.ts';
import { noticeOf } from '../../functions/notifier/deciding/notice-of-event.ts';
import { createIncidentStore, incidentIdOf, incidentOf } from '../../shared/alerts/incidents.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { NOON_MS } from '../builders.ts';
import { aNotice } from '../notifier/channel-under-test.ts';
import { anIncident } from '../store/mutes-contract.ts';
import { ACCOUNT_ID, createApiUnderTest } from './api-under-test.ts';

const SIGNING_SECRET = '0123456789abcdef0123456789abcdef';
const BOT = { token: 'xoxb-0000000000-test', channel: 'C0123456789', signing_secret: SIGNING_SECRET };
const RESPONSE_URL = 'https://hooks.slack.com/actions/T0/1/secret-part';
const PATH = '/bridge/v1/slack/interactions';
const MARTA = 'slack:T0:U012AB3CD';
const NOTICE = aNotice();
const INCIDENT_ID = incidentIdOf(incidentOf(NOTICE));

interface Posted {
  readonly attachments: readonly [{ readonly color: string; readonly blocks: readonly Block[] }];
}

interface Block {
  readonly type: string;
  readonly elements?: readonly { readonly action_id?: string; readonly value?: string }[];
}

/** Resolves to the message that the notifier posts about the incident. */
async function postedAlert(notice: Notice = NOTICE): Promise<Posted> {
  const posted: Posted[] = [];
  const channel = createSlackChannel({
    credentials: { current: async () => createSecret(JSON.stringify(BOT)) },
    webhookOrigin: 'https://hooks.slack.com',
    links: { consoleBaseUrl: 'https://bridge.example.com' },
    fetch: async (_url, init) => {
      posted.push(JSON.parse(init?.body as string) as Posted);
      return Response.json({ ok: true, ts: '1737061324.000100', channel: BOT.channel });
    },
  });
  await channel.send([[notice]]);
  const [message] = posted;
  if (message === undefined) throw new Error('Nothing was posted');
  return message;
}

function buttonOf({ attachments }: Posted, actionId: string) {
  const all = attachments[0].blocks.flatMap(({ elements = [] }) => elements);
  return all.find(({ action_id }) => action_id === actionId);
}

interface Setting {
  readonly slackSecret?: string | undefined;
  readonly incident?: Parameters<typeof anIncident>[0];
  readonly slackAnswers?: () => Response;
}

async function setUp({ slackSecret = JSON.stringify(BOT), incident, slackAnswers }: Setting = {}) {
  const replies: { readonly url: string; readonly body: Record<string, unknown> }[] = [];
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test',
    upstreamKey: 'a-key',
    clock,
    slackSecret,
    fetch: async (url, init) => {
      replies.push({
        url: url as string,
        body: JSON.parse(init?.body as string) as Record<string, unknown>,
      });
      return slackAnswers?.() ?? new Response('ok');
    },
  });
  const { project_id, action } = NOTICE;
  const known = anIncident({ incident_id: INCIDENT_ID, project_id, action, ...incident });
  const incidents = createIncidentStore(api.memory, ACCOUNT_ID, { clock });
  await incidents.change(INCIDENT_ID, () => known);
  const token = await api.issueToken({ client_id: 'an-operator', validForMs: 86_400_000 });
  const ask = async (path: string) => {
    const response = await api.app.request(path, { headers: { authorization: `Bearer ${token}` } });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return (await response.json()) as any;
  };
  return { api, ask, replies, incidents };
}

interface Press {
  readonly secret?: string;
  readonly ageMs?: number;
  readonly signedBody?: (body: string) => string;
  readonly headers?: object;
}

async function press(
  { api }: Awaited<ReturnType<typeof setUp>>,
  payload: unknown,
  { secret = SIGNING_SECRET, ageMs = 0, signedBody = (body) => body, headers = {} }: Press = {},
): Promise<Response> {
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const timestamp = String(Math.floor((NOON_MS - ageMs) / 1_000));
  const hmac = createHmac('sha256', secret).update(`v0:${timestamp}:${signedBody(body)}`);
  return api.app.request(PATH, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${hmac.digest('hex')}`,
      ...headers,
    },
    body,
  });
}

function payloadOf(message: Posted, actionId: string, fields: object = {}) {
  return {
    type: 'block_actions',
    user: { id: 'U012AB3CD', username: 'marta', name: 'marta', team_id: 'T0' },
    team: { id: 'T0', domain: 'example' },
    trigger_id: '12466734323.1395872398',
    response_url: RESPONSE_URL,
    actions: [{ block_id: 'b', action_ts: '1737061399.1', ...buttonOf(message, actionId) }],
    message: {
      ts: '1737061324.000100',
      text: 'Operation failed',
      team: 'T0',
      attachments: message.attachments,
    },
    ...fields,
  };
}

async function askFor(bridge: Awaited<ReturnType<typeof setUp>>, client_id: string) {
  const project_id = 'bold-sound-12345678';
  const options = { client_id, approve: ['DELETE /projects/*'], validForMs: 86_400_000 };
  bridge.api.memory.sync.update({ key: projectKey(ACCOUNT_ID, project_id), set: { kind: 'project' } });
  await bridge.api.app.request(`/api/v2/projects/${project_id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${await bridge.api.issueToken(options)}` },
  });
  await bridge.api.invokeWorker({
    'detail-type': 'x',
    detail: { account_id: ACCOUNT_ID, project_id: '~approvals' },
  });
  const wanted = bridge.api.published.find(({ detailType }) => detailType === 'Command Approval');
  const notice = noticeOf('Command Approval', JSON.parse(wanted?.detail ?? ''));
  if (notice === undefined) throw new Error('Nobody was asked');
  return { message: await postedAlert(notice), path: `/bridge/v1/approvals/${notice.approval_id}` };
}

describe('the buttons under a question to people', () => {
  test('approve the call for the person who pressed, and then go', async () => {
    const bridge = await setUp();
    const { message, path } = await askFor(bridge, 'an-agent');

    await press(bridge, payloadOf(message, 'approve'));

    expect((await bridge.ask(path)).approval).toMatchObject({ state: 'queued', decided_by: MARTA });
    expect(bridge.replies).toHaveLength(1);
    const [reply] = bridge.replies;
    expect(reply?.body).toMatchObject({ replace_original: true });
    const shown = JSON.stringify(reply?.body);
    expect(shown).toContain('<@U012AB3CD> approved this.');
    expect(shown).not.toMatch(/"action_id":"(approve|deny)"/);
  });

  test('tell a second person who has decided, and change nothing', async () => {
    const bridge = await setUp();
    const { message, path } = await askFor(bridge, 'an-agent');
    await press(bridge, payloadOf(message, 'deny'));

    const user = { id: 'U0OTHER', username: 'joe', team_id: 'T0' };
    await press(bridge, payloadOf(message, 'approve', { user }));

    expect((await bridge.ask(path)).approval).toMatchObject({ state: 'denied', decided_by: MARTA });
    expect(bridge.replies.at(-1)?.body).toMatchObject({
      response_type: 'ephemeral',
      text: expect.stringContaining(`${MARTA} has denied it before`),
    });
  });
});

describe('a button on Slack', () => {
  test('acknowledges the incident for the person who pressed it, and says so in place and in the thread', async () => {
    const bridge = await setUp();
    const message = await postedAlert();

    const response = await press(bridge, payloadOf(message, 'acknowledge'));

    expect([response.status, await response.text()]).toEqual([200, '']);
    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged).toMatchObject({
      client_id: MARTA,
    });
    expect((await bridge.ask('/bridge/v1/audit?outcome=done')).records).toMatchObject([
      { call: 'acknowledgeIncident', client_id: MARTA },
    ]);
    const [inPlace, inThread] = bridge.replies.map(({ body }) => body);
    const { attachments } = inPlace as unknown as Posted;
    expect(bridge.replies.map(({ url }) => url)).toEqual([RESPONSE_URL, RESPONSE_URL]);
    expect(inPlace).toMatchObject({ replace_original: true });
    expect(JSON.stringify(attachments[0].blocks.at(-1))).toContain('<@U012AB3CD> acknowledged this');
    expect(
      ['acknowledge', 'mute_1h', 'open'].map((id) => buttonOf(inPlace as unknown as Posted, id)),
    ).toMatchObject([undefined, { action_id: 'mute_1h' }, { action_id: 'open' }]);
    expect(JSON.stringify(attachments)).toContain(NOTICE.operation_id);
    expect(inThread).toMatchObject({ thread_ts: '1737061324.000100', replace_original: false });
  });

  test('mutes the incident for an hour, with who and why', async () => {
    const bridge = await setUp();

    await press(bridge, payloadOf(await postedAlert(), 'mute_1h'));

    expect((await bridge.ask('/bridge/v1/mutes')).mutes).toMatchObject([
      {
        incident_id: INCIDENT_ID,
        client_id: MARTA,
        reason: 'a button on Slack, pressed by marta',
        until: new Date(NOON_MS + 3_600_000).toISOString(),
      },
    ]);
  });

  test('mutes once when Slack sends the same press twice, and again when it is pressed again', async () => {
    const bridge = await setUp();
    const payload = payloadOf(await postedAlert(), 'mute_1h');
    const later = { actions: payload.actions.map((one) => ({ ...one, action_ts: '1737061400.2' })) };
    const muteCount = async () => (await bridge.ask('/bridge/v1/mutes')).mutes.length;

    const answers = [await press(bridge, payload), await press(bridge, payload)];
    const afterTwo = await muteCount();
    await press(bridge, { ...payload, ...later });

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect([afterTwo, await muteCount()]).toEqual([1, 2]);
  });

  test('acknowledges what was given up once, and says the same when Slack sends the press again', async () => {
    const bridge = await setUp({ incident: { state: 'given_up', gravity: 'given_up' } });
    const payload = payloadOf(await postedAlert(), 'acknowledge');

    await press(bridge, payload);
    const first = await bridge.incidents.read(INCIDENT_ID);
    await press(bridge, payload);

    expect(await bridge.incidents.read(INCIDENT_ID)).toEqual(first);
    expect(bridge.replies.slice(2)).toEqual(bridge.replies.slice(0, 2));
  });

  test('that opens the operation is understood, and nothing else happens', async () => {
    const bridge = await setUp();
    const message = await postedAlert();

    expect(buttonOf(message, 'open')).toMatchObject({
      url: expect.stringContaining('/console/accounts/main/'),
    });
    expect((await press(bridge, payloadOf(message, 'open'))).status).toBe(200);
    expect(bridge.replies).toEqual([]);
  });

  test('under an incident that has ended says so to the person alone', async () => {
    const bridge = await setUp({ incident: { state: 'recovered', ended_at: '2026-01-15T11:59:00.000Z' } });

    expect((await press(bridge, payloadOf(await postedAlert(), 'acknowledge'))).status).toBe(200);
    expect(bridge.replies.map(({ body }) => body)).toMatchObject([
      { response_type: 'ephemeral', replace_original: false, text: expect.stringContaining('has ended') },
    ]);
  });

  test('does its work although Slack does not take the reply, and sends none to another address', async () => {
    const bridge = await setUp({ slackAnswers: () => new Response('', { status: 500 }) });
    const message = await postedAlert();
    const elsewhere = { response_url: 'https://hooks.slack.com.evil.example/actions' };

    expect((await press(bridge, payloadOf(message, 'acknowledge'))).status).toBe(200);
    expect((await press(bridge, payloadOf(message, 'mute_1h', elsewhere))).status).toBe(200);
    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged).toBeDefined();
    expect((await bridge.ask('/bridge/v1/mutes')).mutes.length).toBe(1);
    expect(bridge.replies.map(({ url }) => url)).toEqual([RESPONSE_URL, RESPONSE_URL]);
  });

  test('tells two people of one name apart, and shows the name without its tricks', async () => {
    const bridge = await setUp();
    const message = await postedAlert();
    const names = ['marta', 'marta', undefined, '\u202e<!channel>'];

    for (const [place, username] of names.entries())
      await press(
        bridge,
        payloadOf(message, 'mute_1h', { user: { id: `U${place}A`, team_id: 'T0', username } }),
      );

    const { mutes } = await bridge.ask('/bridge/v1/mutes');
    const shown = mutes
      .map((one: Record<string, string>) => `${one['client_id']} ${one['reason']}`)
      .toSorted();
    expect(shown).toEqual([
      'slack:T0:U0A a button on Slack, pressed by marta',
      'slack:T0:U1A a button on Slack, pressed by marta',
      'slack:T0:U2A a button on Slack',
      'slack:T0:U3A a button on Slack, pressed by channel',
    ]);
  });

  test.each([
    ['a guest of another workspace', { user: { id: 'U7', username: 'marta', team_id: 'T9' } }],
    ['a person without a workspace', { user: { id: 'U7', username: 'marta' } }],
    [
      'a guest whose workspace Slack names as that of the press',
      {
        user: { id: 'U7', username: 'marta', team_id: 'T9' },
        team: { id: 'T9' },
      },
    ],
  ])('is refused to %s, who learns why', async (_who, fields) => {
    const bridge = await setUp();

    const { status } = await press(bridge, payloadOf(await postedAlert(), 'acknowledge', fields));

    expect(status).toBe(200);
    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged).toBeUndefined();
    expect(bridge.replies.map(({ body }) => body)).toMatchObject([
      { response_type: 'ephemeral', text: expect.stringContaining('team_ids') },
    ]);
  });

  test('is open to the workspaces that the secret names', async () => {
    const bridge = await setUp({ slackSecret: JSON.stringify({ ...BOT, team_ids: ['T9'] }) });
    const user = { id: 'U7', username: 'ines', team_id: 'T9' };

    await press(bridge, payloadOf(await postedAlert(), 'acknowledge', { user }));

    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged?.client_id).toBe('slack:T9:U7');
  });
});

describe('a request that Slack did not sign', () => {
  test.each<[string, Press]>([
    ['with another secret', { secret: 'f'.repeat(32) }],
    ['for another body', { signedBody: (body) => `${body}&x=1` }],
    ['more than five minutes ago', { ageMs: 301_000 }],
    ['five minutes ahead', { ageMs: -301_000 }],
    ['without a signature', { headers: { 'x-slack-signature': '' } }],
    ['with half a signature', { headers: { 'x-slack-signature': 'v0=ab' } }],
    ['with a time that is none', { headers: { 'x-slack-request-timestamp': '1e9' } }],
  ])('%s is refused, and nothing is done', async (_how, options) => {
    const bridge = await setUp();

    const response = await press(bridge, payloadOf(await postedAlert(), 'acknowledge'), options);

    expect(response.status).toBe(401);
    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged).toBeUndefined();
    expect(bridge.replies).toEqual([]);
  });

  test.each([
    ['an incoming webhook', 'https://hooks.slack.com/services/T/B/x'],
    ['a bot without a signing secret', JSON.stringify({ token: BOT.token, channel: BOT.channel })],
  ])('finds nothing where Slack is set up as %s', async (_what, slackSecret) => {
    const bridge = await setUp({ slackSecret });

    expect((await press(bridge, payloadOf(await postedAlert(), 'acknowledge'))).status).toBe(404);
  });

  test('that is larger than any of Slack is refused unread', async () => {
    const bridge = await setUp();

    expect((await press(bridge, { type: 'x'.repeat(400_000) })).status).toBe(413);
  });
});

describe('what Slack signed and the bridge does not know', () => {
  test.each([
    ['another kind of interaction', () => ({ type: 'view_submission' })],
    [
      'another button',
      (message: Posted) =>
        payloadOf(message, 'acknowledge', { actions: [{ action_id: 'buy', value: '{}' }] }),
    ],
    [
      'a value that is none',
      (message: Posted) =>
        payloadOf(message, 'acknowledge', {
          actions: [{ action_id: 'acknowledge', value: '{"account_id":"main"}' }],
        }),
    ],
    ['no payload', () => undefined],
  ])('%s is understood, and nothing is done', async (_what, payload) => {
    const bridge = await setUp();

    expect((await press(bridge, payload(await postedAlert()))).status).toBe(200);
    expect((await bridge.incidents.read(INCIDENT_ID))?.acknowledged).toBeUndefined();
    expect(bridge.replies).toEqual([]);
  });
});

describe('the buttons', () => {
  test.each([
    [
      'a bot that has no signing secret',
      { token: BOT.token, channel: BOT.channel },
      'https://bridge.example.com',
    ],
    ['a bridge that Slack cannot reach', BOT, 'http://127.0.0.1:8787'],
  ])('are not shown by %s', async (_what, bot, consoleBaseUrl) => {
    const bodies: string[] = [];
    const channel = createSlackChannel({
      credentials: { current: async () => createSecret(JSON.stringify(bot)) },
      webhookOrigin: 'https://hooks.slack.com',
      links: { consoleBaseUrl },
      fetch: async (_url, init) => {
        bodies.push(init?.body as string);
        return Response.json({ ok: true, ts: '1.1' });
      },
    });

    await channel.send([[NOTICE]]);

    expect(bodies.join()).not.toContain('"actions"');
    expect(bodies.join()).toContain('Open in the console');
  });
});
