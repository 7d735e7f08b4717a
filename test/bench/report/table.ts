/** Formats the rows for people, one line each. */

import type { Figures } from '../measure.ts';

interface Column {
  readonly head: string;
  readonly width: number;
  readonly of: (row: Figures) => string;
}

const seconds = (value: number) => value.toFixed(value < 10 ? 2 : 1);

const columns: readonly Column[] = [
  { head: 'world', width: -17, of: ({ world }) => world },
  { head: 'N', width: 5, of: ({ projects }) => String(projects) },
  { head: 'seed', width: 5, of: seedsOf },
  { head: 'rpm', width: 4, of: (row) => String(row.requests_per_minute) },
  { head: 'policy', width: -17, of: ({ policy }) => policy },
  { head: 'engine', width: -6, of: ({ engine }) => engine },
  { head: 'mean', width: 6, of: (row) => seconds(row.mean_s) },
  { head: 'p50', width: 5, of: (row) => seconds(row.p50_s) },
  { head: 'p95', width: 5, of: (row) => seconds(row.p95_s) },
  { head: 'p99', width: 5, of: (row) => seconds(row.p99_s) },
  { head: 'max', width: 6, of: (row) => seconds(row.max_s) },
  { head: 'stalest', width: 7, of: ({ bridge }) => bridge?.stalest_s.toFixed(0) ?? '-' },
  { head: 'waiting', width: 7, of: ({ waiting }) => String(waiting) },
  { head: 'req/tr', width: 6, of: (row) => row.requests_per_transition.toFixed(1) },
  { head: 'states', width: 6, of: (row) => `${(100 * row.states_detected).toFixed(0)}%` },
  { head: 'complete', width: 8, of: ({ bridge }) => bridge?.complete.toFixed(3) ?? '-' },
  { head: '429', width: 4, of: ({ bridge }) => String(bridge?.refused ?? '-') },
  { head: 'wu/tr', width: 5, of: ({ bridge }) => bridge?.write_units.toFixed(2) ?? '-' },
  { head: 'alive', width: 5, of: ({ bridge }) => (bridge ? `${(100 * bridge.alive).toFixed(0)}%` : '-') },
  { head: 'x bound', width: 7, of: (row) => row.over_bound.toFixed(2) },
  { head: 'x tight', width: 7, of: (row) => (row.mean_s / (row.tight_bound_s ?? Number.NaN)).toFixed(2) },
  { head: 'p99/(N/R)', width: 9, of: (row) => row.p99_over_round.toFixed(2) },
];

export const tableHead = columns.map(({ head, width }) => padded(head, width)).join(' ');

export function tableLine(row: Figures): string {
  return columns.map(({ width, of }) => padded(of(row), width)).join(' ');
}

/** Returns `7` for one seed, and `1-4` for several. */
function seedsOf({ seed, seed_count }: Figures): string {
  return seed_count === 1 ? String(seed) : `${seed}-${seed + seed_count - 1}`;
}

/** Pads on the left, or on the right when the width is negative. */
function padded(text: string, width: number): string {
  return width < 0 ? text.padEnd(-width) : text.padStart(width);
}
