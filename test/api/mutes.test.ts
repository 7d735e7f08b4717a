/** Mutes and incidents through the API: who may set, see and lift them, and what is refused. */

import { describe, expect, test } from 'vitest';
import { createIncidentStore, type IncidentRecord } from '../../shared/alerts/incidents.ts';
import { createConfiguredMutes } from '../../shared/alerts/mutes.ts';
import { NOON_MS } from '../builders.ts';
import { anIncident } from '../store/mutes-contract.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';

const MUTES = '/bridge/v1/mutes';
const INCIDENTS = '/bridge/v1/incidents';
const INCIDENT_ID = '0123456789abcdef0123456789abcdef';
const asked = { project_id: PROJECT_ID, duration_seconds: 3_600, reason: 'a migration' };

async function setUp(incidents: readonly Partial<IncidentRecord>[] = []) {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.test', upstreamKey: 'a-key', clock });
  const store = createIncidentStore(api.memory, ACCOUNT_ID, { clock });
  for (const fields of incidents) {
    const incident = anIncident({ project_id: PROJECT_ID, ...fields });
    await store.change(incident.incident_id, () => incident);
  }
  const as = async (token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 86_400_000, ...token })}`;
    return async (method: string, path: string, body?: object, more: Record<string, string> = {}) => {
      const headers = { authorization, ...(body && { 'content-type': 'application/json' }), ...more };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await api.app.request(path, init);
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      return { status: response.status, body: (await response.json()) as any };
    };
  };
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { api, as, ask: await as({ client_id: 'an-operator' }), pass };
}

type World = Awaited<ReturnType<typeof setUp>>;

describe('a mute', () => {
  test('says who set it, until when and why, and is gone when it ends', async () => {
    const { ask, pass } = await setUp();

    const set = await ask('POST', MUTES, asked);

    const mute = {
      mute_id: expect.any(String),
      project_id: PROJECT_ID,
      reason: 'a migration',
      client_id: 'an-operator',
      created_at: '2026-01-15T12:00:00.000Z',
      until: '2026-01-15T13:00:00.000Z',
    };
    expect(set).toEqual({ status: 201, body: mute });
    expect((await ask('GET', MUTES)).body).toEqual({ mutes: [mute] });
    pass(3_600_000);
    expect((await ask('GET', MUTES)).body).toEqual({ mutes: [] });
  });

  test('is lifted once, and both are in the audit', async () => {
    const { ask } = await setUp();
    const { mute_id } = (await ask('POST', MUTES, asked)).body;

    expect((await ask('DELETE', `${MUTES}/${mute_id}`)).body).toMatchObject({ lifted_by: 'an-operator' });
    expect((await ask('DELETE', `${MUTES}/${mute_id}`)).status).toBe(404);
    expect((await ask('GET', MUTES)).body).toEqual({ mutes: [] });
    expect((await ask('GET', '/bridge/v1/audit?outcome=done')).body.records).toMatchObject([
      { call: 'liftMute', client_id: 'an-operator', resource: { mute_id } },
      { call: 'muteAlerts', client_id: 'an-operator' },
    ]);
  });

  const key = { 'idempotency-key': 'a-key' };

  test.each([
    ['it lasts', async () => {}],
    ['it has ended', async ({ pass }: World) => pass(3_600_000)],
    ['it was lifted', async ({ ask }: World, path: string) => void (await ask('DELETE', path))],
  ])(
    'is given back under its key when %s, and another request under that key is refused',
    async (_when, act) => {
      const world = await setUp();
      const { ask } = world;
      const set = await ask('POST', MUTES, asked, key);
      await act(world, `${MUTES}/${set.body.mute_id}`);

      expect(await ask('POST', MUTES, asked, key)).toMatchObject({
        status: 201,
        body: { mute_id: set.body.mute_id },
      });
      for (const other of [
        { project_id: OTHER_PROJECT_ID },
        { action: 'start_compute' },
        { reason: 'another' },
      ])
        expect(await ask('POST', MUTES, { ...asked, ...other }, key)).toMatchObject({
          status: 422,
          body: { type: 'urn:operations-bridge:problem:key-reused' },
        });
      const { mutes } = (await ask('GET', MUTES)).body;
      expect(mutes.length).toBeLessThanOrEqual(1);
    },
  );

  test('of another duration under a used key is refused', async () => {
    const { ask } = await setUp();
    await ask('POST', MUTES, asked, key);

    expect((await ask('POST', MUTES, { ...asked, duration_seconds: 60 }, key)).status).toBe(422);
  });

  test('of an incident has the project and the action of the incident', async () => {
    const { ask } = await setUp([{}]);
    const { project_id: _project, ...others } = asked;

    const set = await ask('POST', MUTES, { ...others, incident_id: INCIDENT_ID });

    expect(set.body).toMatchObject({
      incident_id: INCIDENT_ID,
      project_id: PROJECT_ID,
      action: 'start_compute',
    });
    expect((await ask('POST', MUTES, { ...asked, incident_id: INCIDENT_ID })).status).toBe(400);
    const unknown = { ...others, incident_id: INCIDENT_ID.replace('0', 'f') };
    expect((await ask('POST', MUTES, unknown)).status).toBe(404);
  });

  test.each([
    ['that lasts longer than 30 days', { duration_seconds: 30 * 86_400 + 1 }, 'body.duration_seconds'],
    ['that lasts less than a minute', { duration_seconds: 59 }, 'body.duration_seconds'],
    ['without a reason', { reason: ' ' }, 'body.reason'],
    ['with a reason of two lines', { reason: 'a\nb' }, 'body.reason'],
  ])('%s is refused, and the answer names the field', async (_what, fields, field) => {
    const { ask } = await setUp();

    const refused = await ask('POST', MUTES, { ...asked, ...fields });

    expect(refused).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  });

  test.each([
    [59, 'must be at least 60: a mute lasts a minute or more'],
    [30 * 86_400 + 1, 'must be at most 2592000: a mute lasts 30 days or less'],
  ])('of %i seconds is refused with a plain sentence', async (duration_seconds, reason) => {
    const { ask } = await setUp();

    const refused = await ask('POST', MUTES, { ...asked, duration_seconds });

    expect(refused.body.errors).toEqual([{ field: 'body.duration_seconds', reason }]);
  });

  test('of other projects can be neither set nor seen nor lifted by a caller who is limited to projects', async () => {
    const { ask, as } = await setUp();
    const limited = await as({ project_ids: [PROJECT_ID] });
    const { duration_seconds, reason } = asked;
    const own = await limited('POST', MUTES, asked);
    const account = await ask('POST', MUTES, { duration_seconds, reason });
    const other = await ask('POST', MUTES, { ...asked, project_id: OTHER_PROJECT_ID });

    expect(own.status).toBe(201);
    expect((await limited('POST', MUTES, { duration_seconds, reason })).status).toBe(403);
    expect((await limited('POST', MUTES, { ...asked, project_id: OTHER_PROJECT_ID })).status).toBe(404);
    expect((await limited('GET', MUTES)).body.mutes).toEqual([own.body]);
    for (const { body } of [account, other])
      expect((await limited('DELETE', `${MUTES}/${body.mute_id}`)).status).toBe(404);
  });

  test('of the configuration is shown as such until it ends, and is lifted there only', async () => {
    const { api, ask, as, pass } = await setUp();
    const notifier = createConfiguredMutes(api.memory);
    const [from, until] = ['2026-01-15T11:00:00Z', '2026-01-15T12:30:00Z'];
    await notifier.keepConfigured([
      { from, until },
      { project_ids: [PROJECT_ID, OTHER_PROJECT_ID], from, until },
      { from, until: '2026-01-15T12:00:00Z' },
    ]);
    const limited = await as({ project_ids: [PROJECT_ID] });
    await ask('POST', MUTES, asked);

    const { mutes } = (await ask('GET', MUTES)).body;
    const own = (await limited('GET', MUTES)).body.mutes;
    const refused = await ask('DELETE', `${MUTES}/configured-1`);

    const configured = { configured: true, client_id: 'configuration', created_at: from, until };
    expect(mutes).toMatchObject([
      { mute_id: 'configured-1', ...configured },
      { mute_id: 'configured-2', project_ids: [PROJECT_ID, OTHER_PROJECT_ID], ...configured },
      { client_id: 'an-operator' },
    ]);
    expect(own).toMatchObject([{ mute_id: 'configured-2', project_ids: [PROJECT_ID] }, {}]);
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('alerts.policy.mutes') },
    });
    pass(1_800_000);
    expect((await ask('GET', MUTES)).body.mutes).toHaveLength(1);
  });

  test('needs the scope alerts:mute', async () => {
    const { as } = await setUp();
    const reader = await as({ scopes: ['operations:read'] });

    expect((await reader('POST', MUTES, asked)).status).toBe(403);
    expect((await reader('GET', MUTES)).status).toBe(200);
  });
});

describe('an incident', () => {
  test('is in the list of open ones with what failed in the last hour, until it has ended', async () => {
    const failures = [
      { id: 'a', at_ms: NOON_MS - 3_600_001, attempt_count: 5 },
      { id: 'b', at_ms: NOON_MS - 60_000, attempt_count: 2 },
    ];
    const { ask } = await setUp([
      { failures },
      {
        incident_id: INCIDENT_ID.replace('0', 'a'),
        state: 'recovered',
        ended_at: '2026-01-15T11:59:00.000Z',
      },
    ]);

    const open = await ask('GET', INCIDENTS);
    const ended = await ask('GET', `${INCIDENTS}?state=ended`);

    expect(open.body).toEqual({
      incidents: [
        {
          incident_id: INCIDENT_ID,
          project_id: PROJECT_ID,
          action: 'start_compute',
          state: 'failing',
          gravity: 'failing',
          began_at: '2026-01-15T11:58:00.000Z',
          failing_operation_ids: ['an-operation'],
          failing_operation_count: 1,
          failed_attempts_last_hour: 2,
        },
      ],
    });
    expect(ended.body.incidents).toMatchObject([{ state: 'recovered' }]);
  });

  test('is read in pages, the newest first', async () => {
    const began = ['2026-01-15T11:50:00.000Z', '2026-01-15T11:55:00.000Z', '2026-01-15T11:53:00.000Z'];
    const { ask } = await setUp(
      began.map((began_at, place) => ({ began_at, incident_id: INCIDENT_ID.replace('0', `${place}`) })),
    );

    const first = await ask('GET', `${INCIDENTS}?limit=2`);
    const second = await ask('GET', `${INCIDENTS}?limit=2&cursor=${first.body.cursor}`);

    const times = [first, second].flatMap(({ body }) =>
      body.incidents.map((one: { began_at: string }) => one.began_at),
    );
    expect(times).toEqual(began.toSorted().toReversed());
    expect(second.body.cursor).toBeUndefined();
  });

  test('is acknowledged with a name and a reason, and the acknowledgement can be withdrawn once', async () => {
    const { ask } = await setUp([{}]);
    const path = `${INCIDENTS}/${INCIDENT_ID}/acknowledgement`;

    const acknowledged = await ask('POST', path, { reason: 'I look at it.' });

    expect(acknowledged.body.acknowledged).toEqual({
      at: '2026-01-15T12:00:00.000Z',
      client_id: 'an-operator',
      reason: 'I look at it.',
    });
    expect((await ask('GET', `${INCIDENTS}/${INCIDENT_ID}`)).body).toEqual(acknowledged.body);
    expect((await ask('DELETE', path)).body).not.toHaveProperty('acknowledged');
    expect(await ask('DELETE', path)).toMatchObject({ status: 409, body: { title: expect.any(String) } });
  });

  test('is acknowledged once by one caller, however often that is repeated', async () => {
    const { ask, pass } = await setUp([{}]);
    const path = `${INCIDENTS}/${INCIDENT_ID}/acknowledgement`;
    const first = await ask('POST', path, { reason: 'I look at it.' });
    pass(60_000);

    const again = await ask('POST', path, { reason: 'I look at it.' });

    expect(again).toEqual(first);
  });

  test('that was given up ends with its acknowledgement, which needs no body', async () => {
    const { ask } = await setUp([{ state: 'given_up', gravity: 'given_up' }]);
    const path = `${INCIDENTS}/${INCIDENT_ID}/acknowledgement`;

    expect((await ask('POST', path)).body).toMatchObject({ ended_at: '2026-01-15T12:00:00.000Z' });
    expect((await ask('GET', INCIDENTS)).body.incidents).toEqual([]);
    expect((await ask('POST', path)).status).toBe(409);
  });

  test('of another project looks like one that does not exist', async () => {
    const { as } = await setUp([
      { project_id: OTHER_PROJECT_ID },
      { incident_id: INCIDENT_ID.replace('0', 'b') },
    ]);
    const limited = await as({ project_ids: [PROJECT_ID] });

    expect((await limited('GET', INCIDENTS)).body.incidents).toHaveLength(1);
    expect((await limited('GET', `${INCIDENTS}/${INCIDENT_ID}`)).status).toBe(404);
    expect((await limited('POST', `${INCIDENTS}/${INCIDENT_ID}/acknowledgement`)).status).toBe(404);
  });
});
