import { describe, expect, test } from 'vitest';
import { renderMail } from '../../functions/notifier/channels/email.ts';
import { renderSlack } from '../../functions/notifier/channels/slack-message.ts';
import type { Notice } from '../../functions/notifier/deciding/notice.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { createInsightsStore, dayOf, rememberUsualDurations } from '../../shared/insights/day-insights.ts';
import { addTo, samplesOf } from '../insights/values.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { aNotifier, anEvent } from './channel-under-test.ts';

const MINUTE_MS = 60_000;

/** Stores that 40 operations of the action of `anEvent` took so long, and lets the notifier read it. */
async function aNotifierThatKnows(durationMs: number) {
  const notifier = aNotifier();
  const { clock } = notifier;
  const table = createMemoryTable();
  const day = dayOf(clock.now());
  const { account_id, project_id, action } = operationStateChanged.example;
  const samples = samplesOf(
    Array.from({ length: 40 }, () => durationMs),
    { action },
  );
  await addTo(createInsightsStore(table, account_id).itemOf({ projectId: project_id, day }), samples);
  const usual = rememberUsualDurations(createInsightsStore(table.as('notifier'), account_id), clock);
  Object.assign(notifier.deps, {
    usualDurationOf: (_account: string, project: string, wanted: string) => usual(project, wanted),
  });
  return notifier;
}

describe('an alert', () => {
  test('says how long the action usually takes, on Slack and by e-mail', async () => {
    const { deliver, slack } = await aNotifierThatKnows(4 * MINUTE_MS);

    await deliver(anEvent());

    const [sent] = slack.messages;
    const message = sent?.message ?? [];
    expect(message.flat()[0]?.usual_duration).toMatchObject({ basis: 'project', operation_count: 40 });
    expect(JSON.stringify(renderSlack(message, {}))).toContain('*Usually*\\n4 min, 99 of 100 within 4 min');
    expect(renderMail(message, {}).body).toContain('Usually:    4 min, 99 of 100 within 4 min\n');
  });

  test('does not say it when too little is known of the action', async () => {
    const { deliver, slack } = await aNotifierThatKnows(4 * MINUTE_MS);

    await deliver(anEvent({ action: 'create_branch' }));

    expect(slack.messages[0]?.message.flat()[0]).not.toHaveProperty('usual_duration');
  });

  test('is sent without it when it cannot be read', async () => {
    const { deliver, slack, deps, logged } = aNotifier();
    Object.assign(deps, { usualDurationOf: () => Promise.reject(new Error('the table is down')) });

    await deliver(anEvent());

    expect(slack.messages).toHaveLength(1);
    expect(logged('insights.not_read')).toHaveLength(1);
  });

  test('of a stalled operation says on what the threshold of its event rests', () => {
    const notice: Notice = {
      id: 'an-event',
      kind: 'stalled',
      severity: 'warning',
      account_id: 'main',
      observed_at: '2026-01-15T12:00:00.000Z',
      project_id: 'quiet-pond-12345678',
      operation_id: 'an-operation',
      action: 'create_branch',
      branch_id: 'br-quiet-pond-a1234567',
      endpoint_id: 'ep-quiet-pond-a1234567',
      status: 'running',
      failures_count: 0,
      open_ms: 305_412,
      since: '2026-01-15T11:54:54Z',
      client_id: 'deployer',
      usual_duration: { basis: 'account', operation_count: 312, p50_ms: 980, p95_ms: 4_870, p99_ms: 9_402 },
    };

    const mail = renderMail([[notice]], {}).body;
    const slack = JSON.stringify(renderSlack([[notice]], {}));

    expect(mail).toContain('Usually:    980 ms, 99 of 100 within 9.4 s\n');
    // Slack shows ten fields in a section, and this card has twelve.
    expect(slack).toContain('*Usually*');
    expect(slack).toContain('*Operation*\\n`an-operation`');
  });
});
