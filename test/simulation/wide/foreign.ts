/**
 * Gives a run what foreign services, clocks and networks do and ours never did. Each kind of fault has dice of its own, and runs below
 * `FOREIGN_FROM` have none of them, so that the seeds that once broke a promise stay the runs that they were.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { FOREIGN_FROM } from '../foreign-from.ts';
import { ALONE } from '../upstream-model.ts';
import { type ForeignFault, foreignFaultKinds, WIDE_FAULT_RATES, type WideFault } from './faults.ts';
import { DAY_MS, dice, MINUTE_MS, type WidePlan } from './plan.ts';
import type { Timeline } from './timeline.ts';
import type { Span, WideOperation } from './upstream/truth.ts';

/** Each run has one or two of these kinds of fault: with more of them a red run would not say which one broke it. */
const SHARE = 0.08;

const SALT = 0x41f0;

/** With this salt none of the pinned runs has the fault, which is newer than they are. */
const BROKEN_SALT = 0x0ace;

/** The same is so with this salt for a project that moves. */
const MOVED_SALT = 0x0d0e;

export function withForeignFaults(plan: WidePlan): WidePlan {
  if (plan.seed < FOREIGN_FROM) return plan;
  const { chance } = dice(seededRandom(plan.seed ^ SALT));
  const drawn = foreignFaultKinds.filter((kind) => !ALONE_DRAWN.has(kind) && chance(SHARE));
  const isBroken = dice(seededRandom(plan.seed ^ BROKEN_SALT)).chance(SHARE);
  const isMoved = dice(seededRandom(plan.seed ^ MOVED_SALT)).chance(SHARE);
  const late = [
    ...(isBroken ? (['account_broken'] as const) : []),
    ...(isMoved ? (['project_moved'] as const) : []),
  ];
  return [...drawn, ...late].reduce(withForeignFault, plan);
}

const ALONE_DRAWN: ReadonlySet<ForeignFault> = new Set(['account_broken', 'project_moved']);

/** Adds one kind of fault, with what a run must be like for the fault to strike and for the promise to hold in spite of it. */
export function withForeignFault(plan: WidePlan, kind: ForeignFault): WidePlan {
  const { whole } = dice(seededRandom(plan.seed ^ SALT ^ foreignFaultKinds.indexOf(kind)));
  const faults = { ...plan.faults, [kind]: WIDE_FAULT_RATES[kind] };
  const without = (...kinds: readonly WideFault[]) => ({
    ...faults,
    ...Object.fromEntries(kinds.map((each) => [each, 0])),
  });
  switch (kind) {
    case 'list_replica_lags':
    case 'read_replica_lags':
      // A row is late by the lag of the replica and by what it is late itself, and the overlap has to hold both. Only its times tell an
      // earlier state from a later one.
      return {
        ...plan,
        replicaLagMsMax: plan.walkLimits.overlapMs,
        faults: without('operation_row_late', 'operation_updated_at_wrong'),
      };
    case 'http_date_behind':
      return { ...plan, faults };
    case 'secrets_outage':
      // Without a process that has read the key nothing can be read. Beyond a day a key is not used any more.
      return {
        ...plan,
        gapMs: 0,
        isAsleep: false,
        faults: without(
          'key_revoked',
          'lambda_cold_start',
          'lambda_crashed',
          'lambda_frozen',
          'invocation_overlapping',
          'table_restored',
        ),
      };
    case 'operation_unreadable_for_good':
    case 'operation_never_answered':
      // It is read by itself once newer operations have taken its place on the first page.
      return {
        ...plan,
        operationCount: Math.max(plan.operationCount, whole(10, 14)),
        walkLimits: { ...plan.walkLimits, firstPageRows: 2 },
        pollIntervalSeconds: 10,
        operationPageMax: Math.max(plan.operationPageMax, 20),
        faults: without('operation_page_capped', 'operation_list_long'),
      };
    case 'operation_page_failing':
      return {
        ...plan,
        projectCount: Math.max(2, plan.projectCount),
        historyCount: Math.max(5, plan.historyCount),
        operationPageMax: 3,
        faults: without('project_bound_met'),
        projectsMax: undefined,
      };
    case 'nudge_lost':
      // The whole limit is spent, and the poller has to know of the commands that spend it, too. Only a sweep finds a row that is
      // dated back, and a sweep over the operations of so many commands takes more days than a run has.
      return {
        ...plan,
        isLeased: true,
        commandRequestsPerMinute: whole(10, 20),
        commandEveryMs: [1_000, 5_000],
        requestsPerMinute: whole(25, 50),
        pollIntervalSeconds: whole(1, 3),
        pollsAtOnce: whole(2, 5),
        lingerMs: undefined,
        faults: { ...without('table_restored', 'clock_wrong', 'operation_row_past'), command_sent: 1 },
      };
    case 'project_moved':
      // A wish and its answer are compared by the clocks of two processes, and a restored table tells again.
      return {
        ...plan,
        backfill: 'open',
        projectsMax: undefined,
        faults: without(
          'table_restored',
          'item_unreadable',
          'clock_wrong',
          'wall_clock_set_back',
          'project_bound_met',
          'secrets_outage',
        ),
      };
    case 'monotonic_clock_stands':
      // A process with two wrong clocks knows nothing of time.
      return { ...plan, faults: without('wall_clock_set_back') };
    case 'wall_clock_set_back':
      return { ...plan, faults: without('monotonic_clock_stands') };
    case 'operation_row_past':
      // Only a sweep finds such a row, and with small pages a sweep takes more days than a run has.
      return {
        ...plan,
        operationPageMax: Math.max(plan.operationPageMax, plan.walkLimits.widePageRows),
        sweepIntervalMs: Math.min(plan.sweepIntervalMs, DAY_MS),
        faults: without('operation_list_long'),
      };
    case 'operation_row_future':
    case 'operation_row_without_time':
    case 'operation_text_long':
    case 'http_date_ahead':
    case 'table_sdk_repeats':
    case 'table_keys_unprocessed':
    case 'partition_read_late':
    case 'bus_not_authorized':
    case 'account_broken':
      return { ...plan, faults };
  }
}

/** An outage begins in the second busy time and outlasts the five minutes for which a process keeps a key. */
export function secretsOutages({ seed, faults }: WidePlan, { busy: [, second] }: Timeline): readonly Span[] {
  if (faults.secrets_outage === 0) return [];
  const { whole } = dice(seededRandom(seed ^ SALT ^ 0x5ec));
  const fromMs = second.fromMs + whole(0, 60) * 1_000;
  return [{ fromMs, toMs: fromMs + whole(7, 12) * MINUTE_MS }];
}

/** The bus refuses this account's entries for less than a minute, as after a wrong policy that was put right. */
export function unauthorizedSpans(
  { seed, faults }: WidePlan,
  { busy: [, second] }: Timeline,
): readonly Span[] {
  if (faults.bus_not_authorized === 0) return [];
  const { whole } = dice(seededRandom(seed ^ SALT ^ 0xb05));
  const fromMs = second.fromMs + whole(0, 40) * 1_000;
  return [{ fromMs, toMs: fromMs + whole(20, 55) * 1_000 }];
}

/** The service may be wrong by seconds or by weeks, each order of size as often as the others. */
const AHEAD_S = [30, 40 * 86_400] as const;
const BACK_S = [60, 3 * 3_600] as const;

const TEXT_CHARACTERS = [1, 400_000] as const;

/** Changes one row of a project, or none where no operation is fit for it. */
export function withForeignRows(
  plan: WidePlan,
  place: number,
  operations: readonly WideOperation[],
): readonly WideOperation[] {
  const { chance, whole, pick } = dice(seededRandom(plan.seed ^ SALT ^ 0x0f7 ^ (place << 12)));
  const { faults } = plan;
  const changes: ((op: WideOperation) => WideOperation)[] = [];
  const spread = ([from, to]: readonly [number, number]) =>
    Math.round(from * (to / from) ** (whole(0, 1_000) / 1_000));
  const shifted = (seconds: number) => (op: WideOperation) => ({
    ...op,
    createdUs: op.createdUs + seconds * 1_000_000,
    shiftedMs: seconds * 1_000,
  });
  if (faults.operation_row_future > 0) changes.push(shifted(spread(AHEAD_S)));
  if (faults.operation_row_past > 0) changes.push(shifted(-spread(BACK_S)));
  if (faults.operation_row_without_time > 0)
    changes.push((op) => ({ ...op, malformedUntilMs: Number.POSITIVE_INFINITY, hasNoTime: true }));
  if (faults.operation_text_long > 0) {
    const length = spread(TEXT_CHARACTERS);
    const text = pick(['postgres://', 'Bearer ', 'x', 'é']).repeat(length).slice(0, length);
    changes.push((op) => ({ ...op, text }));
  }
  if (faults.operation_unreadable_for_good + faults.operation_never_answered > 0)
    changes.push((op) => unreadable(op, faults.operation_never_answered > 0 ? 'hangs' : 'refused'));
  const fit = operations.filter(({ action }) => ALONE.has(action));
  const changed = new Map<WideOperation, WideOperation>();
  for (const change of changes) {
    const op = fit.splice(chance(0.5) ? 0 : whole(0, fit.length - 1), 1)[0];
    if (op !== undefined) changed.set(op, change(op));
  }
  return operations.map((op) => changed.get(op) ?? op);
}

/** The operation stays failed, and nobody can read it by itself. */
function unreadable(op: WideOperation, readingIs: 'refused' | 'hangs'): WideOperation {
  const [first] = op.states;
  if (first === undefined) return op;
  const atMs = first.atMs + 2_000;
  const failed = { atMs, updatedAtMs: atMs, status: 'failed', failures_count: first.failures_count + 1 };
  return { ...op, readingIs, vanishesAtMs: Number.POSITIVE_INFINITY, states: [first, failed] };
}
