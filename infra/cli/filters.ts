/**
 * Defines the filters that subcommands share. A filter can be given several times, and lets through what has one of its values. What is
 * probably a slip of the keyboard is refused, and a name that nothing has so far is told, because the upstream adds names.
 */

import { AUDIT_OUTCOMES } from '../../shared/commands/audit.ts';
import { DETAIL_TYPES } from '../../shared/events/event-names.ts';
import { splitFigures } from '../../shared/runtime/telemetry.ts';
import { UsageError } from '../process/command.ts';
import { type BridgeClient, BridgeRefusal, isPassing } from './bridge-client.ts';
import { listProjects } from './examining/verify-project.ts';
import type { OptionRow } from './subcommands/subcommand.ts';

interface Filter {
  readonly flags: string;
  /** Completes "only events" or the like. */
  readonly says: string;
  /** The name of the filter in requests. */
  readonly field: string;
  readonly known?: readonly string[];
  /** These are all values there are, so another one is refused. */
  readonly isClosed?: true;
}

const FILTERS = {
  project: { flags: '--project <id>', says: 'of this project', field: 'project_id' },
  account: { flags: '--account <id>', says: 'of this account', field: 'account_id' },
  action: {
    flags: '--action <action>',
    says: 'of this action, such as create_branch',
    field: 'action',
    known: splitFigures.FailuresByAction,
  },
  status: {
    flags: '--status <status>',
    says: 'with this status, such as failed',
    field: 'status',
    known: splitFigures.TransitionsByStatus,
  },
  type: {
    flags: '--type <detail-type>',
    says: 'of this type, such as "Command Settled"',
    field: 'detail_type',
    known: Object.values(DETAIL_TYPES),
    isClosed: true,
  },
  id: { flags: '--id <id>', says: 'with this id, or about the operation with it', field: 'id' },
  client: { flags: '--client <name>', says: 'of this caller', field: 'client_id' },
  call: { flags: '--call <id>', says: 'of this call, such as restartProjectEndpoint', field: 'call' },
  outcome: {
    flags: '--outcome <outcome>',
    says: `with this outcome: ${AUDIT_OUTCOMES.join(', ')}`,
    field: 'outcome',
    known: AUDIT_OUTCOMES,
    isClosed: true,
  },
  incident: { flags: '--incident <id>', says: 'of this incident', field: 'incident_id' },
} as const satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** The values as they stand on the command line, by the names of the filters. */
export type FilterValues<Name extends FilterName> = Readonly<Partial<Record<Name, readonly string[]>>>;

/** The values by the names of the requests. A filter that was not given is absent. */
export type Chosen = Readonly<Record<string, string[] | undefined>>;

export function filterRows(noun: string, names: readonly FilterName[]): readonly OptionRow[] {
  return names.map((name) => [FILTERS[name].flags, `only ${noun} ${FILTERS[name].says}`, []]);
}

/** `known` replaces what is known of a filter. Throws `UsageError`. */
export function readFilters<Name extends FilterName>(
  values: FilterValues<Name>,
  names: readonly Name[],
  note: (sentence: string) => void,
  known: Readonly<Partial<Record<FilterName, readonly string[]>>> = {},
): Chosen {
  const chosen: Record<string, string[]> = {};
  for (const name of names) {
    const filter: Filter = { ...FILTERS[name], ...(known[name] && { known: known[name] }) };
    const given = values[name]?.flatMap((text) => text.split(','));
    if (given !== undefined)
      chosen[filter.field] = given.map((text) => meant(`--${name}`, text, filter, note));
  }
  return chosen;
}

/** Returns the filters as the query of a list has them. */
export function queryOf(chosen: Chosen): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(chosen).map(([field, values]) => [field, values?.join(',')]));
}

/**
 * Compares the projects with those that the bridge watches, and refuses one that is nearly the name of another. A bridge that does not
 * say, to this token or at this time, leaves them unchecked.
 */
export async function checkProjects(
  client: BridgeClient,
  { project_id: projects = [] }: Chosen,
  note: (sentence: string) => void,
): Promise<void> {
  if (projects.length === 0) return;
  const known = await listProjects(client).catch((error: unknown) => {
    if (isPassing(error) || error instanceof BridgeRefusal) return [];
    throw error;
  });
  for (const project of projects) meant('--project', project, { known }, note);
}

/** Says that nothing fits, and why that may be. */
export async function noteNothing(
  what: string,
  {
    client,
    chosen,
    note,
  }: { readonly client: BridgeClient; readonly chosen: Chosen; readonly note: (sentence: string) => void },
): Promise<void> {
  await checkProjects(client, chosen, note);
  note(Object.keys(chosen).length === 0 ? `There is no ${what}.` : `No ${what} fits the filters.`);
}

export const TIME_ROWS: readonly OptionRow[] = [
  ['--since <when>', 'only from a time (ISO 8601) on, or from 10m, 2h or 7d ago on'],
  ['--until <when>', 'only before a time, or before 10m, 2h or 7d ago'],
];

interface Times {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Returns the times as ISO 8601. Throws `UsageError`. */
export function readTimes({ since, until }: Times, nowMs: number): Times {
  return {
    since: since && parseTime('since', since, nowMs),
    until: until && parseTime('until', until, nowMs),
  };
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns a time (ISO 8601) for a time or for how long ago. Throws `UsageError`. */
function parseTime(name: string, text: string, nowMs: number): string {
  const time = timeIn(text, nowMs);
  if (time !== undefined) return time;
  throw new UsageError(
    `--${name} is "${text}"; it takes a time such as 2026-01-16T21:00:00Z, or a duration such as 10m, 2h or 7d.`,
  );
}

export function timeIn(text: string, nowMs: number): string | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs !== undefined) return new Date(nowMs - Number(count) * unitMs).toISOString();
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(text).toISOString();
}

/** Returns the known value that is meant, in any case and with hyphens for spaces. Throws `UsageError`. */
function meant(
  flag: string,
  text: string,
  { known = [], isClosed }: Pick<Filter, 'known' | 'isClosed'>,
  note: (sentence: string) => void,
): string {
  const same = known.find((value) => plain(value) === plain(text));
  if (same !== undefined) return same;
  const near = nearest(text, known);
  const said = `${flag} is "${text}"`;
  if (near !== undefined) throw new UsageError(`${said}; did you mean "${near}"?`);
  if (isClosed) throw new UsageError(`${said}; it takes ${known.join(', ')}.`);
  if (text === '') throw new UsageError(`${said}; it takes a value.`);
  if (known.length > 0) note(`${said}, which nothing has so far; known are ${listed(known)}.`);
  return text;
}

const LISTED_MAX = 15;

function listed(values: readonly string[]): string {
  const more = values.length - LISTED_MAX;
  return `${values.slice(0, LISTED_MAX).join(', ')}${more > 0 ? ` and ${more} others` : ''}`;
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[ _-]/g, ' ');
}

/** A slip is one letter in four, and two at most. */
function nearest(text: string, known: readonly string[]): string | undefined {
  const most = Math.min(2, Math.floor(text.length / 4));
  const near = known.map((value) => ({ value, edits: editsBetween(plain(text), plain(value)) }));
  return near.filter(({ edits }) => edits <= most).toSorted((a, b) => a.edits - b.edits)[0]?.value;
}

/** Counts the letters to add, take away or change (Levenshtein), a row of the table at a time. */
export function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (const [count, letter] of from.split('').entries()) {
    const next = [count + 1];
    for (const [place, other] of to.split('').entries()) {
      const [left = 0, above = 0, across = 0] = [next[place], row[place + 1], row[place]];
      next.push(Math.min(left + 1, above + 1, across + (letter === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
