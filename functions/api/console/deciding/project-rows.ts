/** Derives the table of projects: what is known of each, which of them a filter keeps, and in which order they stand. */

import type { CountedHour } from '../../../../shared/insights/hour-counts-store.ts';
import type { ChangedRecord, Changes } from '../../read-model/account-activity.ts';
import { CONCERNS, type Concern, type Concerning, concernOf, type HeldTrouble } from './troubles.ts';

/** A project has the first of these states that applies. Whether something runs there is another question. */
export const PROJECT_STATES = ['needs a person', 'not read', 'acknowledged', 'failing', 'healthy'] as const;

export type ProjectState = (typeof PROJECT_STATES)[number];

/** The list can show the projects of one state, or those in which an operation runs. */
export const PROJECT_CHOICES = [...PROJECT_STATES, 'running'] as const;

type ProjectChoice = (typeof PROJECT_CHOICES)[number];

export const PROJECT_ORDERS = ['activity', 'failures', 'name'] as const;

export type ProjectOrder = (typeof PROJECT_ORDERS)[number];

export interface ProjectRow {
  readonly project_id: string;
  readonly name: string | undefined;
  readonly state: ProjectState;
  readonly isRunning: boolean;
  /** The latest change that was looked at, ISO 8601. It is undefined when there is none. */
  readonly changed_at: string | undefined;
  /** Counts the failed attempts of the last 24 hours. */
  readonly failed_count: number;
}

/** Holds what the rows are derived from. */
export interface ProjectFacts {
  readonly ids: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  readonly changes: Changes;
  readonly hours: readonly CountedHour[];
  readonly troubles: readonly (Pick<HeldTrouble, 'project_id'> & Concerning)[];
  /** An operation of these projects runs, and does not only wait for a retry. */
  readonly running: ReadonlySet<string>;
  /** These projects could not be read to their end. */
  readonly unread: ReadonlySet<string>;
}

export function projectRows(facts: ProjectFacts): readonly ProjectRow[] {
  const changedAt = latestChanges(facts.changes.records);
  const failures = failuresByProject(facts.hours);
  const concerns = gravestConcerns(facts.troubles);
  const stateOf = (id: string): ProjectState => {
    const concern = concerns.get(id);
    if (concern !== 'needs a person' && facts.unread.has(id)) return 'not read';
    return concern ?? 'healthy';
  };
  return facts.ids.map((id) => ({
    project_id: id,
    name: facts.names.get(id),
    state: stateOf(id),
    isRunning: facts.running.has(id),
    changed_at: changedAt.get(id),
    failed_count: failures.get(id) ?? 0,
  }));
}

function gravestConcerns(troubles: ProjectFacts['troubles']): ReadonlyMap<string, Concern> {
  const gravest = new Map<string, Concern>();
  for (const trouble of troubles) {
    const [known, found] = [gravest.get(trouble.project_id), concernOf(trouble)];
    const isGraver = known === undefined || CONCERNS.indexOf(found) < CONCERNS.indexOf(known);
    if (isGraver) gravest.set(trouble.project_id, found);
  }
  return gravest;
}

export interface ProjectFilter {
  /** A part of the name or of the id, in any case. */
  readonly text: string;
  readonly state: ProjectChoice | undefined;
  readonly order: ProjectOrder;
}

export function chosenRows(
  rows: readonly ProjectRow[],
  { text, state, order }: ProjectFilter,
): readonly ProjectRow[] {
  const wanted = text.trim().toLowerCase();
  const isChosen = (row: ProjectRow) =>
    (state === undefined || (state === 'running' ? row.isRunning : row.state === state)) &&
    (wanted === '' ||
      row.project_id.toLowerCase().includes(wanted) ||
      row.name?.toLowerCase().includes(wanted) === true);
  return rows.filter(isChosen).toSorted(COMPARISONS[order]);
}

export function countByState(rows: readonly ProjectRow[]): ReadonlyMap<ProjectState, number> {
  const counts = new Map<ProjectState, number>(PROJECT_STATES.map((state) => [state, 0]));
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** `shop 2` stands before `shop 10`. */
const NAMES = new Intl.Collator('en', { numeric: true });

function byName(a: ProjectRow, b: ProjectRow): number {
  const [first, second] = [a.name ?? a.project_id, b.name ?? b.project_id];
  return NAMES.compare(first, second) || NAMES.compare(a.project_id, b.project_id);
}

const COMPARISONS: Readonly<Record<ProjectOrder, (a: ProjectRow, b: ProjectRow) => number>> = {
  name: byName,
  activity: (a, b) => compareTexts(b.changed_at, a.changed_at) || byName(a, b),
  failures: (a, b) => b.failed_count - a.failed_count || byName(a, b),
};

/** ISO times sort as texts. A time that is not known stands before all others. */
function compareTexts(a = '', b = ''): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function latestChanges(records: readonly ChangedRecord[]): ReadonlyMap<string, string> {
  const latest = new Map<string, string>();
  for (const { projectId, changed_at } of records)
    if (!latest.has(projectId)) latest.set(projectId, changed_at);
  return latest;
}

function failuresByProject(hours: readonly CountedHour[]): ReadonlyMap<string, number> {
  const failures = new Map<string, number>();
  for (const { counts } of hours)
    for (const [id, { failed_count }] of counts.failing)
      failures.set(id, (failures.get(id) ?? 0) + failed_count);
  return failures;
}
