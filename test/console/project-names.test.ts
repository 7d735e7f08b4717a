/** Tests that lists show projects by their names, with the ids beside them, wherever the bridge knows the names. */

import { expect, test } from 'vitest';
import { createNameKeeper } from '../../functions/poller/account/discovery/keep-names.ts';
import { createBoundReports } from '../../functions/poller/account/status/report-bound.ts';
import { createIncidentStore, incidentIdOf, incidentOf } from '../../shared/alerts/incidents.ts';
import { createInsightsStore, dayOf } from '../../shared/insights/day-insights.ts';
import { changesOf, createHourCountsStore } from '../../shared/insights/hour-counts.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createProjectNames } from '../../shared/store/project-names.ts';
import { ACCOUNT_ID, createApiUnderTest } from '../api/api-under-test.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { addTo, aSample } from '../insights/values.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';
import { anIncident } from '../store/mutes-contract.ts';

const PROJECTS = { 'icy-hat-1': 'shop <production>', 'icy-sky-2': 'shop tests' } as const;
const idOf = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** An operation of the same action has failed in each of the projects. */
async function setUp() {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble().fetch,
    clock,
  });
  const keeper = createNameKeeper(createProjectNames(api.memory, ACCOUNT_ID));
  keeper.take(Object.entries(PROJECTS).map(([id, name]) => ({ id, name })));
  await keeper.write({ isGone: () => false, bounds: createBoundReports(silentTelemetry) });
  const at = new Date(NOON_MS - 1_000).toISOString();
  const records = Object.keys(PROJECTS).map((project_id, index) => {
    const failed = { status: 'failed', failures_count: 1, created_at: at, updated_at: at } as const;
    const operation = anOperation({ id: idOf(index), project_id, ...failed });
    const record = decideNextRecord(undefined, operation, { ...aContext(), nowMs: NOON_MS });
    if (record === undefined) throw new Error('The operation is no news');
    return record;
  });
  for (const record of records)
    await createBridgeStore(api.memory, ACCOUNT_ID, clock).record(record, undefined);
  for (const [hour, changes] of Map.groupBy(records.flatMap(changesOf), (change) => change.hour))
    await addTo(createHourCountsStore(api.memory, ACCOUNT_ID).itemOf(hour), changes);
  const signedIn = await api.app.request('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token: await api.issueToken(), next: '/console' }).toString(),
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  return {
    memory: api.memory,
    show: async (path: string) => (await api.app.request(path, { headers: { cookie } })).text(),
  };
}

const PRODUCTION = />shop &lt;production&gt;<\/a> <span class="id quiet">icy-hat-1<\/span>/;
const TESTS = />shop tests<\/a> <span class="id quiet">icy-sky-2<\/span>/;

test.each([
  ['the events', '/console/events'],
  ['the events that a subscription would have delivered', '/console/subscribe?status=failed'],
])('%s name the project of each event, and show its id second', async (_name, path) => {
  const text = await (await setUp()).show(path);

  expect(text).toMatch(PRODUCTION);
  expect(text).toMatch(TESTS);
});

const PAGE = `/console/accounts/${ACCOUNT_ID}/projects/icy-hat-1/operations/${idOf(0)}`;

/** Records that the action fails in so many other projects, and how often it has ended in the days before. */
async function failAlike(memory: MemoryTable, projectCount: number, endedCount: number) {
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  const { action } = anOperation({});
  const samples = Array.from({ length: endedCount }, () => aSample({ durationMs: 1_000, action }));
  const day = { projectId: undefined, day: dayOf(NOON_MS) };
  await addTo(createInsightsStore(memory, ACCOUNT_ID).itemOf(day), samples);
  const began_at = new Date(NOON_MS - 60_000).toISOString();
  for (let each = 0; each < projectCount; each++) {
    const subject = { account_id: ACCOUNT_ID, project_id: `project-${each}`, action };
    const incident_id = incidentIdOf(incidentOf(subject));
    const record = anIncident({ ...subject, incident_id, began_at, state: 'failing', ended_at: undefined });
    await createIncidentStore(memory, ACCOUNT_ID, { clock }).change(incident_id, () => record);
  }
}

test.each([
  ['names the service when far more projects fail than usual', 12, 500, true],
  ['names no cause while too little is known of what is usual', 12, 20, false],
  ['names no cause when few projects fail alike', 2, 500, false],
])('the page of an operation %s', async (_name, projectCount, endedCount, isService) => {
  const { memory, show } = await setUp();
  await failAlike(memory, projectCount, endedCount);

  const text = await show(PAGE);

  expect(text).toContain(`Failing alike now: ${projectCount} other projects`);
  expect(/probably/.test(text)).toBe(isService);
});

test('the page of an operation names the other projects that failed alike', async () => {
  const text = await (await setUp()).show(PAGE);

  expect(text).toMatch(/Did others fail alike\?[\s\S]*>shop tests<\/a> <span class="id quiet">icy-sky-2</);
});
