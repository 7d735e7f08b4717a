/** Derives everything that differs between two runs from the seed alone. */

import type { Backfill } from '../../shared/records/operation-record.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { FOREIGN_FROM } from './foreign-from.ts';

/** Lists every fault that the simulation can inject. A campaign fails when one of them never fired. */
const firstFaultKinds = [
  'crash_before_call',
  'crash_after_call',
  'pause',
  'clock_skew',
  'table_throttled',
  'table_read_throttled',
  'table_reply_lost',
  'table_sdk_retry_after_apply',
  'index_lag',
  'bus_call_failed',
  'bus_entry_failed',
  'bus_reply_lost',
  'bus_entry_refused',
  'upstream_rate_limited',
  'upstream_unavailable',
  'upstream_network',
  'upstream_malformed',
  'upstream_not_found',
  'upstream_unauthorized',
  'upstream_partial_projects',
  'row_late',
  'row_tie',
  'updated_at_broken',
  'operation_vanished',
  'operation_reopened',
] as const;

/** Runs below `FOREIGN_FROM` have none of these, and they are thrown with dice of their own, so that older seeds stay what they were. */
export const foreignFaultKinds = [
  'row_future',
  'row_past',
  'date_ahead',
  'date_behind',
  'list_lags',
  'read_lags',
] as const;

export const faultKinds = [...firstFaultKinds, ...foreignFaultKinds] as const;

export type FaultKind = (typeof faultKinds)[number];

export const NO_FAULTS = Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;

export interface SimulationOptions {
  readonly seed: number;
  readonly pollerCount: number;
  readonly projectCount: number;
  readonly operationCount: number;
  readonly historyCount: number;
  readonly backfill: Backfill;
  readonly chaosMs: number;
  readonly firstPageRows: number;
  readonly widePageRows: number;
  readonly pagesMax: number;
  readonly overlapMs: number;
  readonly boundStepRows: number;
  readonly pollIntervalMs: number;
  readonly invocationMs: number;
  readonly visibleLateMsMax: number;
  readonly sweepIntervalMs: number;
  /** Holds the probability of each fault per call. It is 0 for the kinds that this run does not have. */
  readonly faults: Readonly<Record<FaultKind, number>>;
}

/** Holds the probability of each fault per opportunity, in a run that has it. */
const FAULT_RATES: Readonly<Record<FaultKind, number>> = {
  crash_before_call: 0.012,
  crash_after_call: 0.012,
  pause: 0.01,
  clock_skew: 0.5,
  table_throttled: 0.06,
  table_read_throttled: 0.02,
  table_reply_lost: 0.06,
  table_sdk_retry_after_apply: 0.06,
  index_lag: 0.5,
  bus_call_failed: 0.1,
  bus_entry_failed: 0.15,
  bus_reply_lost: 0.1,
  bus_entry_refused: 0.02,
  upstream_rate_limited: 0.05,
  upstream_unavailable: 0.05,
  upstream_network: 0.05,
  upstream_malformed: 0.03,
  upstream_not_found: 0.03,
  upstream_unauthorized: 0.004,
  upstream_partial_projects: 0.2,
  row_late: 0.25,
  row_tie: 0.2,
  updated_at_broken: 0.4,
  operation_vanished: 0.05,
  operation_reopened: 0.3,
  row_future: 0.15,
  row_past: 0.1,
  date_ahead: 0.1,
  date_behind: 0.1,
  list_lags: 0.3,
  read_lags: 0.4,
};

export function deriveOptions(seed: number): SimulationOptions {
  const options = drawOptions(seed);
  const ours = seed % HARSH_EVERY === HARSH_REST ? harsh(options) : options;
  return seed < FOREIGN_FROM ? ours : withForeignFaults(ours);
}

const FOREIGN_SALT = 0x41f0;
const FOREIGN_SHARE = 0.1;

function withForeignFaults(options: SimulationOptions): SimulationOptions {
  const random = seededRandom(options.seed ^ FOREIGN_SALT);
  const drawn = foreignFaultKinds.filter(() => random.next() < FOREIGN_SHARE);
  return drawn.reduce(withForeignFault, options);
}

/** Adds one kind of fault, and takes away what no bridge could tell from it. */
export function withForeignFault(
  options: SimulationOptions,
  kind: (typeof foreignFaultKinds)[number],
): SimulationOptions {
  const faults = { ...options.faults, [kind]: FAULT_RATES[kind] };
  // A row that is dated back is found by sweeps alone.
  if (kind === 'row_past' && options.sweepIntervalMs === SWEEPLESS_MS) return options;
  // A row is late by the lag of the replica and by what it is late itself, and the overlap has to hold both.
  const isLagging = kind === 'list_lags' || kind === 'read_lags';
  // Whether a reading that goes back is believed rests on when it was asked for, and so on clocks that agree within a minute.
  return { ...options, faults: isLagging ? { ...faults, row_late: 0, clock_skew: 0 } : faults };
}

/** One run in eight has a table that refuses a third of all writes, and no sweep that would find a lost row later. */
const HARSH_EVERY = 8;
const HARSH_REST = 3;

function harsh(options: SimulationOptions): SimulationOptions {
  const faults = { ...options.faults, table_throttled: 0.35, upstream_unavailable: 0.1 };
  const nothingLate = { row_late: 0, row_tie: 0, operation_reopened: 0, operation_vanished: 0 };
  return {
    ...options,
    overlapMs: 1_000,
    boundStepRows: 1,
    pollIntervalMs: 4_000,
    sweepIntervalMs: SWEEPLESS_MS,
    faults: { ...faults, ...nothingLate },
  };
}

function drawOptions(seed: number): SimulationOptions {
  const random = seededRandom(seed ^ 0x5eed);
  const whole = (from: number, to: number) => from + Math.floor(random.next() * (to - from + 1));
  const pick = <T>(values: readonly [T, ...T[]]): T => values[whole(0, values.length - 1)] ?? values[0];
  const overlapMs = whole(4, 10) * 1_000;
  const widePageRows = whole(8, 11);
  // Without sweeps a mistake of the walk stays visible. Such runs have no faults that only a sweep can repair.
  const hasSweeps = random.next() < 0.6;
  const faults = drawFaults(random);
  return {
    seed,
    pollerCount: whole(1, 3),
    projectCount: whole(1, 2),
    operationCount: whole(2, 12),
    historyCount: whole(0, 6),
    backfill: pick(['open', 'open', 'all', 'none']),
    chaosMs: whole(15, 45) * 1_000,
    firstPageRows: whole(2, 4),
    widePageRows,
    pagesMax: whole(4, 6),
    overlapMs,
    boundStepRows: pick([1, 1, 2, 4]),
    pollIntervalMs: whole(1, 4) * 1_000,
    invocationMs: whole(8, 30) * 1_000,
    visibleLateMsMax: hasSweeps && random.next() < 0.4 ? overlapMs * 4 : overlapMs,
    sweepIntervalMs: hasSweeps ? 45_000 : SWEEPLESS_MS,
    faults: hasSweeps ? faults : { ...faults, row_tie: 0, operation_reopened: 0 },
  };
}

const SWEEPLESS_MS = 7 * 24 * 3_600_000;

/** Gives each run about half of the faults: with all of them at once no work would ever be finished. */
function drawFaults(random: Random): SimulationOptions['faults'] {
  const isCalm = random.next() < 0.05;
  const entries = firstFaultKinds.map((kind) => {
    const isOn = !isCalm && random.next() < 0.5;
    return [kind, isOn ? FAULT_RATES[kind] * (0.5 + random.next()) : 0] as const;
  });
  return { ...NO_FAULTS, ...Object.fromEntries(entries) };
}
