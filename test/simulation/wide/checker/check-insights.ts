/**
 * Checks what the table keeps of durations: no operation is counted twice or invented, and none is missing when one
 * undisturbed process has read everything.
 */

import type { Item } from '../../../../shared/store/table.ts';
import type { Violation } from '../../check-history.ts';
import type { WideFault } from '../faults.ts';
import { DAY_MS } from '../plan.ts';
import { ACCOUNT_ID } from '../stage.ts';
import type { WideOperation } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

export function checkInsights(evidence: Evidence): readonly Violation[] {
  const { table } = evidence.stage.tableSide;
  const items = table.sync
    .items()
    .filter(({ kind, pk }) => kind === 'insights' && pk.split('#')[1] === ACCOUNT_ID);
  return [...items.flatMap((item) => invented(evidence, item)), ...missing(evidence, items)];
}

interface StoredAction {
  readonly durations: Readonly<Record<string, number>>;
}

/** Returns how many operations of each action the item counts. */
function countsIn(item: Item): ReadonlyMap<string, number> {
  const actions = item['actions'] as unknown as Readonly<Record<string, StoredAction>>;
  const entries = Object.entries(actions).map(([action, { durations }]) => {
    return [action, Object.values(durations).reduce((sum, count) => sum + count, 0)] as const;
  });
  return new Map(entries);
}

function isCounted({ status }: { readonly status: string }): boolean {
  return status === 'finished' || status === 'error';
}

/** What had ended at first sight counts as history, and once more as news when it is reopened after that. */
function isHistoryAndNews({ stage, listedAtMs }: Evidence, { project_id, createdUs, states }: WideOperation) {
  const project = stage.upstream.truth.projects.find(({ id }) => id === project_id);
  const firstSightMs = (project && listedAtMs(project)) ?? Number.POSITIVE_INFINITY;
  return createdUs / 1_000 < firstSightMs && states.filter(isCounted).length > 1;
}

function invented(evidence: Evidence, item: Item): readonly Violation[] {
  const { stage } = evidence;
  const day = item.sk.replace('DAY#', '');
  const projectId = item.pk.split('#P#')[1];
  const endedThen = ({ project_id, states }: WideOperation) =>
    (projectId === undefined || project_id === projectId) &&
    states.some((state) => isCounted(state) && new Date(state.updatedAtMs).toISOString().startsWith(day));
  const ended = stage.upstream.truth.operations().filter(endedThen);
  return [...countsIn(item)].flatMap(([action, count]) => {
    const ofAction = ended.filter((op) => op.action === action);
    const trueCount = ofAction.length + ofAction.filter((op) => isHistoryAndNews(evidence, op)).length;
    if (count <= trueCount) return [];
    const detail = `${item.sk} counts ${count} of ${action}, and ${trueCount} have ended`;
    return [{ rule: 'counted-twice', operation_id: item.pk, detail }];
  });
}

/**
 * With these faults a process may end while it still holds samples, may not know whether it has written them, or
 * reads durations that make no sense.
 */
const DISTURBING: readonly WideFault[] = [
  'lambda_crashed',
  'lambda_frozen',
  'lambda_cold_start',
  'invocation_overlapping',
  'clock_wrong',
  'table_throttled',
  'table_reply_lost',
  'table_restored',
  'operation_updated_at_wrong',
  'operation_row_future',
  'item_unreadable',
];

/** What ended longer ago may belong to a day that the insights do not look at. */
const COUNTED_MS = 5 * DAY_MS;

/** Every operation of which one process has published that it went on to its end counts in the account. */
function missing({ stage, events }: Evidence, items: readonly Item[]): readonly Violation[] {
  const { fired } = stage.world;
  const pollers = new Set(stage.invocations.map(({ by }) => by));
  // After a gap the items of its beginning have expired.
  const isDisturbed = pollers.size > 1 || stage.world.plan.gapMs > 0;
  if (isDisturbed || DISTURBING.some((kind) => fired.has(kind))) return [];
  const published = events.filter(
    ({ detailType, by, event, atMs }) =>
      detailType === 'Operation State Changed' &&
      pollers.has(by) &&
      event.observed_by !== 'command' &&
      isCounted({ status: event.status ?? '' }) &&
      Date.parse(event.operation_updated_at ?? '') > atMs - COUNTED_MS,
  );
  const publishedCount = new Set(published.map(({ event }) => event.operation_id)).size;
  const own = items.filter(({ pk }) => !pk.includes('#P#'));
  const count = own.flatMap((item) => [...countsIn(item).values()]).reduce((sum, each) => sum + each, 0);
  if (count >= publishedCount) return [];
  return [
    {
      rule: 'not-counted',
      operation_id: '',
      detail: `${publishedCount} have ended, and ${count} are counted`,
    },
  ];
}
