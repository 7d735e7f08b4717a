/** Tests that the pages say when a mute or an acknowledgement holds back alerts, because people look there first. */

import { describe, expect, test } from 'vitest';
import {
  acknowledge,
  createIncidentStore,
  type IncidentRecord,
  incidentIdOf,
  incidentOf,
} from '../../shared/alerts/incidents.ts';
import { createMuteStore } from '../../shared/alerts/mutes.ts';
import { decideNextRecord, decideWatchEnd } from '../../shared/records/operation-record.ts';
import { decideDiscovery } from '../../shared/records/project-record.ts';
import { normaliseTimestamp } from '../../shared/records/time.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';
import { anIncident } from '../store/mutes-contract.ts';

const AN_HOUR_MS = 3_600_000;

/** An operation of the project failed an hour ago and has not recovered. */
async function setUp(options: TokenOptions = {}) {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const at = new Date(NOON_MS - AN_HOUR_MS).toISOString();
  const operation = anOperation({ status: 'failed', created_at: at, updated_at: at });
  const record = decideNextRecord(undefined, operation, { ...aContext(), nowMs: NOON_MS - AN_HOUR_MS });
  if (record === undefined) throw new Error('The operation is no news');
  await createBridgeStore(api.memory, ACCOUNT_ID, clock).record(record, undefined);
  const { project_id, action, operation_id } = record;
  const sighting = { account_id: ACCOUNT_ID, project_id, nowMs: NOON_MS, isNews: false };
  const project = decideDiscovery(undefined, sighting);
  if (project === undefined) throw new Error('The project is no news');
  await createBridgeStore(api.memory, ACCOUNT_ID, clock).record(project, undefined);
  const bound = normaliseTimestamp(at);
  await createBridgeStore(api.memory, ACCOUNT_ID, clock).saveProgress(project_id, { bound }, null);
  const mutes = createMuteStore(api.memory, createMemoryIndexes(api.memory), ACCOUNT_ID, { clock });
  const mute = (fields: { readonly project_id?: string; readonly action?: string }) =>
    mutes.add({ mute_id: 'm1', client_id: 'mona', reason: 'a <move>', durationMs: AN_HOUR_MS, ...fields });
  const incident_id = incidentIdOf(incidentOf({ account_id: ACCOUNT_ID, project_id, action }));
  const known = anIncident({ incident_id, account_id: ACCOUNT_ID, project_id, action });
  const setIncident = (incident: IncidentRecord | undefined) =>
    createIncidentStore(api.memory, ACCOUNT_ID, { clock }).change(incident_id, () => incident);
  const signedIn = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: await api.issueToken(options), next: '/console' }).toString(),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = async (path: string) => (await api.app.request(path, { headers: { cookie } })).text();
  return {
    overview: () => get('/console'),
    submit: (path: string, fields: Readonly<Record<string, string>>) =>
      api.app.request(path, {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields).toString(),
      }),
    leaveProject: () =>
      createBridgeStore(api.memory, ACCOUNT_ID, clock).record(
        decideWatchEnd(record, { reason: 'project_gone', nowMs: NOON_MS }),
        record.revision,
      ),
    incident: () => createIncidentStore(api.memory, ACCOUNT_ID, { clock }).read(incident_id),
    projects: () => get('/console/projects'),
    page: () => get(`/console/accounts/${ACCOUNT_ID}/projects/${project_id}/operations/${operation_id}`),
    place: { project_id, action },
    mute,
    setIncident,
    known,
  };
}

/** Finds the form that acknowledges a failure. */
function acknowledgeFormIn(page: string) {
  const [, path = '', form = ''] =
    /action="(\/console\/incidents\/[^"]+)">([\s\S]*?)<\/form>/.exec(page) ?? [];
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)];
  return { path, fields: Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value])) };
}

describe('the overview and the page of an operation', () => {
  test('say until when alerts are muted; the page also says by whom, and why', async () => {
    const { overview, page, place, mute } = await setUp();
    await mute(place);

    expect(await overview()).toMatch(/muted until <time[^>]*>13:00:00/);
    expect(await page()).toMatch(
      /are muted until <time[^>]*>13:00:00<\/time> by mona\. The reason: a &lt;move&gt;/,
    );
  });

  test('say nothing of a mute of another action', async () => {
    const { overview, page, place, mute } = await setUp();
    await mute({ ...place, action: 'another_action' });

    expect(await overview()).not.toContain('muted until');
    expect(await page()).not.toContain('muted until');
  });

  test('show a mute of the account without its reason to a visitor with some projects', async () => {
    const { page, place, mute } = await setUp({ project_ids: [anOperation().project_id] });
    await mute({ action: place.action });

    expect(await page()).toContain('muted until');
    expect(await page()).not.toContain('mona');
  });

  test('say who has acknowledged the failures, also of what was given up', async () => {
    const { overview, page, setIncident, known } = await setUp();
    const by = { at: new Date(NOON_MS).toISOString(), client_id: 'amira', reason: 'on it' };
    await setIncident(acknowledge({ ...known, state: 'given_up' }, by));

    expect(await overview()).toContain('by amira');
    expect(await page()).toMatch(/amira has acknowledged the failures of \w+ in this project .*: on it\./);
  });

  test('a person acknowledges the failures on the page of an operation, and the page then says so', async () => {
    const { page, submit, setIncident, known } = await setUp();
    await setIncident(known);
    const asked = await page();
    const { path, fields } = acknowledgeFormIn(asked);

    expect((await submit(path, { ...fields, form_key: 'x' })).status).toBe(403);
    const sent = await submit(path, fields);

    expect([sent.status, sent.headers.get('location')]).toEqual([303, fields['back']]);
    expect(await page()).toContain('an-app has acknowledged the failures');
    expect(await page()).not.toContain('Acknowledge</button>');
  });

  test('without the scope no acknowledgement is offered', async () => {
    const { page, overview, setIncident, known } = await setUp({ scopes: ['operations:read'] });
    await setIncident(known);

    expect(await page()).not.toContain('Acknowledge</button>');
    expect(await overview()).not.toContain('Acknowledge</button>');
  });

  test('what failed before the bridge watched is acknowledged in its row, and nobody is told', async () => {
    const { overview, submit, incident } = await setUp();
    const { path, fields } = acknowledgeFormIn(await overview());

    const sent = await submit(path, fields);

    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/console']);
    expect(await overview()).toContain('by an-app');
    expect(await incident()).toMatchObject({ state: 'failing', acknowledged: { client_id: 'an-app' } });
    expect(await incident()).not.toHaveProperty('announce_until');
    // The same form once more finds the failure in good hands.
    expect((await submit(path, fields)).status).toBe(303);
  });

  test('an operation of another project or another action is acknowledged by no form', async () => {
    const { overview, submit, incident } = await setUp();
    const { path, fields } = acknowledgeFormIn(await overview());
    const forged = path.replace(/incidents\/\w+/, `incidents/${'0'.repeat(32)}`);

    const sent = [
      await submit(forged, fields),
      await submit(path, { ...fields, project_id: 'another-project-1' }),
      await submit(path, { ...fields, operation_id: 'another' }),
    ];

    for (const response of sent) expect(await response.text()).toContain('was answered with 404');
    expect(await incident()).toBeUndefined();
  });

  test('an operation whose project is gone is acknowledged by no form, because nothing would end its incident', async () => {
    const { overview, submit, incident, leaveProject } = await setUp();
    const { path, fields } = acknowledgeFormIn(await overview());
    await leaveProject();

    expect(await (await submit(path, fields)).text()).toContain('was answered with 409');
    expect(await incident()).toBeUndefined();
  });

  test('after an acknowledgement the browser is not sent to another site', async () => {
    const { page, submit, setIncident, known } = await setUp();
    await setIncident(known);
    const asked = await page();
    const { path, fields } = acknowledgeFormIn(asked);

    const sent = await submit(path, { ...fields, back: 'https://evil.example/' });

    expect(sent.headers.get('location')).toBe('/console');
  });

  test('an acknowledged failure needs no other person: the overview counts it apart, as the projects do', async () => {
    const { overview, projects, setIncident, known } = await setUp();
    const before = await overview();
    const by = { at: new Date(NOON_MS).toISOString(), client_id: 'amira', reason: 'on it' };
    await setIncident(acknowledge({ ...known, state: 'given_up' }, by));
    const after = await overview();

    expect(before).toMatch(/Need a person<b>1<\/b>in 1 project</);
    expect(before).toContain('1 needs a person');
    expect(after).toMatch(/Need a person<b>0<\/b>at the moment, 1 more acknowledged</);
    expect(after).toContain('1 acknowledged');
    expect(after).not.toContain('1 needs a person');
    expect(await projects()).toMatch(/<\/span> acknowledged<\/span>/);
  });

  test('say nothing of an acknowledgement once all has recovered', async () => {
    const { overview, page, setIncident, known } = await setUp();
    const acknowledged = { at: new Date(NOON_MS).toISOString(), client_id: 'amira' };
    await setIncident({ ...known, state: 'recovered', acknowledged });

    expect(await overview()).not.toContain('amira');
    expect(await page()).not.toContain('amira');
  });
});
