/** Says which recorded events a caller wants to have published again. */

import * as z from 'zod';

const time = z.iso.datetime({ offset: true });
const names = z.array(z.string().min(1).max(100)).max(100).optional();

/** A field that is absent, or an empty list, leaves nothing out. */
export const eventChoice = z.strictObject({
  since: time.describe('Only events that the bridge observed at this time or later.'),
  until: time.describe('Only events that it observed before this time.'),
  project_id: z.string().min(1).max(100).optional().describe('Only events of this project.'),
  project_ids: names.describe('Only events of these projects.'),
  actions: names.describe('Only events of these actions.'),
  detail_types: names.describe('Only events of these types.'),
  statuses: names.describe('Only events whose detail has one of these as its `status`.'),
  ids: names.describe('Only events with one of these ids, or about an operation with one of them.'),
});

export type EventChoice = Readonly<z.output<typeof eventChoice>>;

interface ChoosableEvent {
  readonly detailType: string;
  /** ISO 8601. */
  readonly time: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Says whether the event is chosen. */
export function isChosen(choice: EventChoice, { detailType, time: at, detail }: ChoosableEvent): boolean {
  const observedMs = Date.parse(at);
  const { project_id, project_ids = [], actions = [], detail_types = [], statuses = [], ids = [] } = choice;
  const isOneOf = (wanted: readonly string[], ...values: readonly unknown[]) =>
    wanted.length === 0 || values.some((value) => typeof value === 'string' && wanted.includes(value));
  return (
    observedMs >= Date.parse(choice.since) &&
    observedMs < Date.parse(choice.until) &&
    (project_id === undefined || detail['project_id'] === project_id) &&
    isOneOf(project_ids, detail['project_id']) &&
    isOneOf(actions, detail['action']) &&
    isOneOf(detail_types, detailType) &&
    isOneOf(statuses, detail['status']) &&
    isOneOf(ids, detail['id'], detail['operation_id'])
  );
}
