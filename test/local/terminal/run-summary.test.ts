import { expect, test } from 'vitest';
import type { DeliveredEvent } from '../../../infra/local/aws/event-bridge/deliveries.ts';
import { createRunSummary } from '../../../infra/local/run-report.ts';

const event = (detail: object) =>
  ({ 'detail-type': 'An Event', detail, time: '2026-01-16T21:00:00Z' }) as unknown as DeliveredEvent;

test('the summary counts projects, and takes an event about an account for none', () => {
  const summary = createRunSummary();
  summary.noteEvent(event({ id: '1', project_count: 25 }));
  summary.noteEvent(event({ id: '2', project_id: 'p-1', status: 'finished' }));

  expect(summary.lines(60_000)[0]).toBe('2 events of 1 project: 1 finished');
});
