/**
 * `npm run cost -- count` counts, on virtual time, what the poller calls in a day, for one account of several sizes and
 * for lanes of small accounts. It writes the counts to infra/cli/docs/counted.json, from which the page of costs is
 * made. `--row 3` counts only the third row again and keeps the others.
 */

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type CountedDay, countedDays } from '../../../infra/cli/docs/cost-docs.ts';
import { type PollAccountRequest, pollAccountRequest } from '../../../shared/config/poller-config.ts';
import { countLane, type LaneCounts } from './count-lane.ts';

/** A row of the page. Hours are hours of virtual time. */
interface CountedRow {
  readonly accounts: number;
  readonly projects: number;
  readonly memoryMb: number;
  readonly settings?: Partial<PollAccountRequest>;
  /** The first reading of all projects is not part of a usual day. */
  readonly warmUpHours: number;
  readonly measuredHours: number;
}

/**
 * The measured time lies around the mean of a day, so it shows a day: activity rises and falls around that mean. A small
 * account needs more of it until its delays say something.
 */
const OF_FEW = { warmUpHours: 0.4, measuredHours: 2 };
const OF_SOME = { warmUpHours: 0.4, measuredHours: 0.5 };
/** The first reading of 10,000 projects takes up to two rounds, which are 34 minutes. */
const OF_MANY = { warmUpHours: 0.75, measuredHours: 0.15 };

/** A lane of small accounts polls each project every ten seconds (docs/deploy/add-an-account.md). */
const IN_LANES = { poll_interval_seconds: 10 };

/** A lane of ten accounts is counted. A full one has ten times as many, and ten full lanes are the last row. */
const COUNTED_LANE_ACCOUNTS = 10;
const MANY = 10;
const FULL_LANE_MEMORY_MB = 256;

/** A lane reads these once, however many accounts it has. Everything else is read and written for each account. */
const OF_LANE: ReadonlySet<string> = new Set(['nudges', 'list of accounts']);

const ROWS: readonly CountedRow[] = [
  { accounts: 1, projects: 10, memoryMb: 144, ...OF_FEW },
  { accounts: 1, projects: 100, memoryMb: 144, ...OF_SOME },
  { accounts: 1, projects: 1_000, memoryMb: 160, ...OF_SOME },
  { accounts: 1, projects: 10_000, memoryMb: 512, ...OF_MANY },
  ...[15, 0].flatMap((linger_seconds) => [
    { accounts: 1, projects: 10, memoryMb: 144, settings: { linger_seconds }, ...OF_FEW },
    { accounts: 1, projects: 100, memoryMb: 144, settings: { linger_seconds }, ...OF_SOME },
    { accounts: 1, projects: 1_000, memoryMb: 160, settings: { linger_seconds }, ...OF_SOME },
  ]),
  { accounts: COUNTED_LANE_ACCOUNTS, projects: 10, memoryMb: 160, settings: IN_LANES, ...OF_SOME },
];

export async function countDay(row: CountedRow): Promise<CountedDay> {
  const { settings = {}, warmUpHours, measuredHours } = row;
  const counts = await countLane({
    accountCount: row.accounts,
    projectCount: row.projects,
    settings,
    warmUpHours,
    measuredHours,
  });
  if (counts.refusedCount > 0) throw new Error(`The upstream refused ${counts.refusedCount} requests`);
  return dayOf(row, counts, 24 / measuredHours);
}

/** `scale` is the number of times that a day has the measured time. */
function dayOf(
  { accounts, projects, memoryMb, settings = {} }: CountedRow,
  counts: LaneCounts,
  scale: number,
): CountedDay {
  const perDay = (count: number) => Math.round(count * scale);
  const { shape } = pollAccountRequest;
  const { delaysS } = counts;
  return {
    accounts,
    projects,
    lanes: 1,
    memory_mb: memoryMb,
    linger_seconds: shape.linger_seconds.parse(settings.linger_seconds),
    poll_interval_seconds: settings.poll_interval_seconds ?? null,
    operations: perDay(counts.operationCount),
    events: perDay(counts.eventCount),
    requests: perDay(counts.requestCount),
    alive_seconds: perDay(counts.aliveS),
    delay_mean_s: rounded(delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length),
    delay_p95_s: rounded(delaysS[Math.floor(delaysS.length * 0.95)] ?? Number.NaN),
    units: Object.fromEntries(
      [...counts.units]
        .map(([subject, { read, write }]) => [subject, { read: perDay(read), write: perDay(write) }] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

/** Accounts share nothing but what the lane reads for all of them, so each further one calls the same. */
function ofFullLane(day: CountedDay): CountedDay {
  return {
    ...times(day, MANY, (subject) => (OF_LANE.has(subject) ? 1 : MANY)),
    lanes: 1,
    alive_seconds: day.alive_seconds,
    memory_mb: FULL_LANE_MEMORY_MB,
  };
}

function times(day: CountedDay, count: number, countOf: (subject: string) => number): CountedDay {
  const units = Object.entries(day.units).map(([subject, { read, write }]) => {
    const each = countOf(subject);
    return [subject, { read: read * each, write: write * each }] as const;
  });
  return {
    ...day,
    lanes: day.lanes * count,
    accounts: day.accounts * count,
    operations: day.operations * count,
    events: day.events * count,
    requests: day.requests * count,
    alive_seconds: day.alive_seconds * count,
    units: Object.fromEntries(units),
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

function isSameRow(row: CountedRow, { accounts, projects, linger_seconds }: CountedDay): boolean {
  const lingers = (row.settings?.linger_seconds ?? 60) === linger_seconds;
  return row.accounts === accounts && row.projects === projects && lingers;
}

/** Counts every row, or the one that `--row` names, and writes the counts. */
export async function countAll(): Promise<void> {
  const { values } = parseArgs({ options: { row: { type: 'string' } } });
  const file = resolve(import.meta.dirname, '../../../infra/cli/docs/counted.json');
  const days: CountedDay[] = [];
  for (const [index, row] of ROWS.entries()) {
    const isWanted = values.row === undefined || Number(values.row) === index + 1;
    const known = countedDays.find((day) => isSameRow(row, day));
    process.stderr.write(
      `${row.accounts} accounts of ${row.projects} projects ${isWanted ? '...' : 'kept'}\n`,
    );
    const day = isWanted ? await countDay(row) : known;
    if (day !== undefined) days.push(day);
  }
  const lane = days.find(({ accounts }) => accounts === COUNTED_LANE_ACCOUNTS);
  if (lane !== undefined) {
    const full = ofFullLane(lane);
    days.push(
      full,
      times(full, MANY, () => MANY),
    );
  }
  writeFileSync(file, `${JSON.stringify(days, undefined, 2)}\n`);
  console.log(`Wrote ${file}. Now run npm run generate.`);
}
