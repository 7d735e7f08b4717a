import { describe, expect, test } from 'vitest';
import { createInsightsStore, dayOf } from '../../shared/insights/day-insights.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from '../api/api-under-test.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { addTo, samplesOf } from '../insights/values.ts';

const OPERATION = anOperation();
const PROJECT = `/console/accounts/main/projects/${OPERATION.project_id}`;
const PAGE = `${PROJECT}/operations/${OPERATION.id}`;
const clock = { now: () => NOON_MS, sleep: async () => {} };

async function setUp() {
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: async () => Response.json({ operations: [], endpoints: [] }),
    clock,
  });
  const record = decideNextRecord(undefined, OPERATION, aContext());
  if (record === undefined) throw new Error('The operation was not recorded');
  await createBridgeStore(api.memory, ACCOUNT_ID, clock).record(record, undefined);
  const store = createInsightsStore(api.memory, ACCOUNT_ID);
  /** Stores that 40 operations of the action of `OPERATION` took so long. */
  const keep = async (projectId: string | undefined, durationMs: number) => {
    const day = dayOf(NOON_MS);
    const durationsMs = Array.from({ length: 40 }, () => durationMs);
    await addTo(store.itemOf({ projectId, day }), samplesOf(durationsMs, { action: OPERATION.action }));
  };
  const show = async (path: string, options: TokenOptions = {}) => {
    const token = await api.issueToken(options);
    const signedIn = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: path }).toString(),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    return (await api.app.request(path, { headers: { cookie } })).text();
  };
  return { keep, show };
}

describe('how long an action usually takes', () => {
  test('stands on the page of an operation and on that of its project', async () => {
    const { keep, show } = await setUp();
    await keep(OPERATION.project_id, 30_000);

    expect(await show(PAGE)).toMatch(
      /<dt>Usually takes<\/dt><dd>(29|30)\.\d s, and 99 of 100 end within \S+ s \(40 operations of this project in 7 days\)/,
    );
    const project = await show(PROJECT);
    expect(project).toContain('How long it usually takes');
    expect(project).toMatch(/<td>\w+<\/td><td data-label="Half within">(29|30)\.\d s<\/td>/);
  });

  test('comes from the whole account when the project has too few operations of it', async () => {
    const { keep, show } = await setUp();
    await keep(undefined, 30_000);

    expect(await show(PAGE)).toContain('(40 operations of the account in 7 days)');
  });

  test('is not taken from the account for a visitor who is limited to projects', async () => {
    const { keep, show } = await setUp();
    await keep(undefined, 30_000);

    const page = await show(PAGE, { project_ids: [OPERATION.project_id] });

    expect(page).toContain(OPERATION.id);
    expect(page).not.toContain('Usually takes');
  });

  test('is left out while too little is known', async () => {
    const { show } = await setUp();

    expect(await show(PAGE)).not.toContain('Usually takes');
    expect(await show(PROJECT)).not.toContain('How long it usually takes');
  });
});
