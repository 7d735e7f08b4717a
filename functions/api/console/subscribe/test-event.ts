/** Makes a test event that a subscription takes, from the example of an event of its kind. */

import { isTerminal } from '../../../../shared/core/records/operation.ts';
import { eventCatalog } from '../../../../shared/events/catalog.ts';
import type { EventDefinition } from '../../../../shared/events/define-event.ts';
import type { Subscription } from '../../../../shared/events/subscription/subscription-pattern.ts';
import { subjectOf } from '../../../../shared/events/subscription/subscription-subjects.ts';

export interface TestEvent {
  readonly detail_type: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** `id` has the form of an event's id: 32 hex digits. `observedAt` is ISO 8601. */
export function testEventFor(
  subscription: Subscription,
  { id, observedAt }: { readonly id: string; readonly observedAt: string },
): TestEvent {
  const { detailTypes } = subjectOf(subscription.subject);
  const catalog: readonly EventDefinition[] = eventCatalog;
  const definition = catalog.find(({ detailType }) => detailTypes.includes(detailType)) ?? catalog[0];
  if (definition === undefined) throw new Error('The catalog has no event');
  const detail = { ...definition.example, id, observed_at: observedAt, ...wantedFields(subscription) };
  return { detail_type: definition.detailType, detail: definition.detail.parse(detail) };
}

/** Returns the fields without which the filters of the subscription would leave the event out. */
function wantedFields({ subject, projects, actions, statuses }: Subscription): Record<string, unknown> {
  const { statusField } = subjectOf(subject);
  const [project] = projects;
  const [action] = actions;
  const [status] = statuses;
  return {
    ...(project !== undefined && { project_id: project }),
    ...(action !== undefined && { action }),
    ...(subject === 'failures' && failedAttempt('failed')),
    ...(status !== undefined && statusField !== undefined && { [statusField]: status }),
    ...(status !== undefined && statusField === 'status' && consistentWith(status)),
  };
}

function consistentWith(status: string): Record<string, unknown> {
  return status === 'failed' || status === 'error' ? failedAttempt(status) : { terminal: isTerminal(status) };
}

function failedAttempt(status: string): Record<string, unknown> {
  return {
    status,
    previous_status: 'running',
    terminal: isTerminal(status),
    failures_count: 1,
    new_failures: 1,
    error: 'This is a test event; no operation failed.',
  };
}
