/** Compares what the upstream says of operations with what the bridge has recorded and published of them. */

import { isTerminal } from '../../../shared/core/records/operation.ts';

/** An operation as the upstream lists it, or as the bridge tracks it. */
export interface SeenOperation {
  readonly id: string;
  readonly status: string;
  readonly failures_count: number;
  /** ISO 8601, in whole seconds. */
  readonly created_at: string;
  /** ISO 8601. It is undefined when the answer does not show it. */
  readonly updated_at?: string | undefined;
}

export interface TrackedOperation extends SeenOperation {
  /** How many State Changed events the bridge has recorded for the operation; 0 for history that was recorded silently. */
  readonly sequence: number;
}

/** A State Changed event of an operation. */
export interface SeenEvent {
  readonly operation_id: string;
  readonly sequence: number;
  readonly previous_status: string | null;
  readonly status: string;
}

export interface Difference {
  readonly operation_id: string;
  readonly kind: 'missing' | 'different' | 'invented' | 'chain';
  /** A sentence that says what is wrong. */
  readonly found: string;
}

export interface ProjectView {
  /** What had ended before this time (ISO 8601) is history, which the bridge does not record. */
  readonly watchedSince?: string | undefined;
  readonly upstream: readonly SeenOperation[];
  readonly tracked: readonly TrackedOperation[];
  readonly events: readonly SeenEvent[];
}

/** Lists what differs. The caller looks again before it believes a difference, because both sides move meanwhile. */
export function compareOperations({
  watchedSince,
  upstream,
  tracked,
  events,
}: ProjectView): readonly Difference[] {
  const trackedById = new Map(tracked.map((operation) => [operation.id, operation]));
  const upstreamIds = new Set(upstream.map(({ id }) => id));
  const eventsById = Map.groupBy(events, ({ operation_id }) => operation_id);
  return [
    ...upstream
      .filter((operation) => trackedById.has(operation.id) || !isHistory(operation, watchedSince))
      .flatMap((operation) => compareOne(operation, trackedById.get(operation.id))),
    ...tracked
      .filter(({ id }) => !upstreamIds.has(id))
      .map(({ id, status }) =>
        difference(id, 'invented', `The table has it as ${status}, and the upstream does not list it.`),
      ),
    ...tracked.flatMap((operation) => checkChain(operation, eventsById.get(operation.id) ?? [])),
  ];
}

/** What is open is no history, however old it is. */
function isHistory({ status, created_at, updated_at = created_at }: SeenOperation, since?: string): boolean {
  if (since === undefined || !isTerminal(status)) return false;
  const sinceMs = Date.parse(since);
  return Date.parse(created_at) < sinceMs && Date.parse(updated_at) < sinceMs;
}

function compareOne(operation: SeenOperation, tracked: TrackedOperation | undefined): readonly Difference[] {
  const { id, status, failures_count } = operation;
  if (tracked === undefined)
    return [
      difference(
        id,
        'missing',
        `The upstream has it as ${status}, and the table does not have it, or cannot read it.`,
      ),
    ];
  if (tracked.status === status && tracked.failures_count === failures_count) return [];
  const [theirs, ours] = [operation, tracked].map(
    (seen) => `${seen.status} with ${seen.failures_count} failures`,
  );
  return [difference(id, 'different', `The upstream says ${theirs}, and the table ${ours}.`)];
}

/** A record keeps its latest 32 entries. An operation with this many changes has all of them, also if it has stalled. */
const KEPT_CHANGES_MIN = 24;

/** The events of an operation count from 1 without a gap, each follows the one before, and the last has its state. */
function checkChain(
  { id, sequence, status }: TrackedOperation,
  events: readonly SeenEvent[],
): readonly Difference[] {
  if (sequence === 0) return [];
  const bySequence = new Map(events.map((event) => [event.sequence, event]));
  const oldest = sequence <= KEPT_CHANGES_MIN ? 1 : Math.min(sequence, ...bySequence.keys());
  const expected = Array.from({ length: sequence - oldest + 1 }, (_, index) => oldest + index);
  const lacking = expected.filter((n) => !bySequence.has(n));
  if (lacking.length > 0)
    return [
      difference(id, 'chain', `Its events ${lacking.join(', ')} of ${sequence} are missing from the feed.`),
    ];
  const broken = events.find(
    ({ sequence: n, previous_status }) => n > oldest && bySequence.get(n - 1)?.status !== previous_status,
  );
  if (broken !== undefined)
    return [difference(id, 'chain', `Its event ${broken.sequence} does not follow the one before it.`)];
  const last = bySequence.get(sequence);
  if (last?.status === status) return [];
  return [difference(id, 'chain', `Its last event says ${last?.status}, and the table ${status}.`)];
}

function difference(operation_id: string, kind: Difference['kind'], found: string): Difference {
  return { operation_id, kind, found };
}
