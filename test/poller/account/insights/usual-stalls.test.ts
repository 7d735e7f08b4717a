import { describe, expect, test } from 'vitest';
import { ACCOUNT_WAIT_MS_MAX } from '../../../../functions/poller/account/insights.ts';
import { createInsightsStore, insightsOf } from '../../../../shared/insights/day-insights.ts';
import { anOperation } from '../../../builders.ts';
import { anAccount, PROJECT_ID } from '../../account-under-test.ts';

const MINUTE_MS = 60_000;

/** Returns operations that took this long each and ended one after the other, newest first, until a minute ago. */
function endedOperations(nowMs: number, count: number, durationMs: number) {
  return Array.from({ length: count }, (_, index) => {
    const endedMs = nowMs - (index + 1) * MINUTE_MS;
    return anOperation({
      id: `ended-${index}`,
      status: 'finished',
      created_at: new Date(endedMs - durationMs).toISOString(),
      updated_at: new Date(endedMs).toISOString(),
      total_duration_ms: durationMs,
    });
  });
}

function setUp() {
  const account = anAccount({ stallThresholdsMs: {} });
  const insights = createInsightsStore(account.table, 'main');
  return {
    ...account,
    readInsights: async () => insightsOf(await insights.readDays(undefined, account.nowMs())),
  };
}

describe('what operations took', () => {
  test('is known from the history of the account minutes after its first sight, and counted once', async () => {
    const { script, poll, restart, nowMs, readInsights } = setUp();
    script.operations = endedOperations(nowMs(), 30, 4_000);
    await poll(MINUTE_MS);
    await poll(ACCOUNT_WAIT_MS_MAX);
    restart();

    await poll(ACCOUNT_WAIT_MS_MAX + MINUTE_MS);

    expect(await readInsights()).toMatchObject([{ action: anOperation().action, durationMs: { count: 30 } }]);
  });

  test('is kept by a warm process from one invocation to the next', async () => {
    const { script, poll, nowMs, readInsights } = setUp();
    script.operations = endedOperations(nowMs(), 20, 4_000);

    for (let minute = 0; minute <= ACCOUNT_WAIT_MS_MAX / MINUTE_MS; minute++) await poll(MINUTE_MS - 1_000);

    expect(await readInsights()).toMatchObject([{ durationMs: { count: 20 } }]);
  });
});

describe('an operation of an action that usually takes minutes', () => {
  test('is published as stalled beyond three times that, with what the threshold rests on', async () => {
    const { script, poll, events, nowMs } = setUp();
    const slow = anOperation({ id: 'slow', status: 'running', created_at: new Date(nowMs()).toISOString() });
    script.operations = [slow, ...endedOperations(nowMs(), 40, 4 * MINUTE_MS)];
    const stalls = () => events().filter(({ type }) => type === 'Operation Stalled');

    await poll(11 * MINUTE_MS);
    expect(stalls()).toEqual([]);
    await poll(3 * MINUTE_MS);

    expect(stalls()).toHaveLength(1);
    const stall = stalls()[0] ?? {};
    expect(stall['usual_duration']).toMatchObject({ basis: 'project', operation_count: 40 });
    expect(Math.abs(Number(stall['threshold_ms']) / (12 * MINUTE_MS) - 1)).toBeLessThan(0.021);
  });

  test('is published as stalled after a quarter of an hour when nothing is known of its action', async () => {
    const { script, poll, events, nowMs } = setUp();
    script.operations = [
      anOperation({ id: 'slow', status: 'running', created_at: new Date(nowMs()).toISOString() }),
    ];

    await poll(16 * MINUTE_MS);

    expect(events().filter(({ type }) => type === 'Operation Stalled')).toMatchObject([
      { project_id: PROJECT_ID, threshold_ms: 15 * MINUTE_MS },
    ]);
  });

  test('is judged by the next poll when what is usual cannot be read', async () => {
    const { script, poll, events, nowMs, deps, logs } = setUp();
    let isDown = true;
    const { usualDurationOf } = deps();
    Object.assign(deps(), {
      usualDurationOf: async (...subject: readonly [string, string]) => {
        if (isDown) throw new Error('the table is down');
        return usualDurationOf(...subject);
      },
    });
    script.operations = [
      anOperation({ id: 'slow', status: 'running', created_at: new Date(nowMs()).toISOString() }),
    ];

    await poll(16 * MINUTE_MS);
    const whileDown = events().filter(({ type }) => type === 'Operation Stalled');
    isDown = false;
    await poll(MINUTE_MS);

    expect(whileDown).toEqual([]);
    expect(logs.map(({ event }) => event)).toContain('insights.not_read');
    expect(events().filter(({ type }) => type === 'Operation Stalled')).toHaveLength(1);
  });
});
