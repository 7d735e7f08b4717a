/**
 * Reads what the overview and the list of projects rest on, and derives the table of projects. A visitor with some
 * projects sees only these.
 */

import type { ProjectLabel } from '../../../../shared/alerts/project-labels.ts';
import { type Caller, maySee } from '../../../../shared/callers/scopes.ts';
import type { CountedHour } from '../../../../shared/insights/hour-counts.ts';
import type { AccountStatus } from '../../../../shared/records/account-status.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import { type Health, type HealthDeps, readHealth } from '../../bridge/health-routes.ts';
import type { ChangedRecord, Changes, WorkAtHand } from '../../read-model/account-activity.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import type { Visitor } from '../sign-in/visitor.ts';
import {
  CONCERNS,
  type Concern,
  type Concerning,
  concernOf,
  type HeldTrouble,
  isProduction,
  readTroubles,
  type Troubles,
} from './troubles.ts';

export interface AccountState {
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly work: WorkAtHand;
  readonly hours: readonly CountedHour[];
  readonly names: ReadonlyMap<string, string>;
  readonly found: Troubles;
  readonly projects: readonly ProjectRow[];
  /** It is false when the account has more projects than were read. */
  readonly areProjectsWhole: boolean;
}

export interface AccountStateDeps extends HealthDeps {
  /** The labels of the alert policy. Without the label `production`, the names of projects decide which are that. */
  readonly labels: Readonly<Record<string, ProjectLabel>>;
}

/** `changes` are needed only where the last activity of projects is shown. */
export async function readAccountState(
  deps: AccountStateDeps,
  { caller, model }: Visitor,
  changes?: Changes,
): Promise<AccountState> {
  const [allWork, hours, names, listed] = await Promise.all([
    model.workAtHand(),
    model.countedHours().then((all) => all.map((hour) => visibleHour(hour, caller))),
    model.projectNames(),
    model.projectIds(),
  ]);
  const work = visibleWork(allWork, caller);
  const ids = listed.ids.filter((id) => maySee(caller, id));
  const isFirst = (project_id: string) => {
    const project = { account_id: model.accountId, project_id, project_name: names.get(project_id) };
    return isProduction(deps.labels['production'], project);
  };
  const [{ status, health }, found] = await Promise.all([
    readHealth(deps, { unpublished: async () => allWork.unpublished }, caller),
    readTroubles(model, caller, { open: work.open, hours, isFirst, nowMs: deps.clock.now() }),
  ]);
  const projects = projectRows({
    ids,
    names,
    changes: changes ?? { records: [], back_to: undefined },
    hours,
    troubles: found.troubles,
    running: new Set(work.open.filter(isRunning).map(({ project_id }) => project_id)),
    failing: new Set((status?.unread_projects ?? []).map(({ project_id }) => project_id)),
    neverRead: await readNeverRead(model, ids, status, changes),
  });
  return { status, health, work, hours, names, found, projects, areProjectsWhole: listed.isWhole };
}

/**
 * The status says that every project was read which was known when it was written. Only without that, or for a project
 * that was seen since, the record of the project has to be asked.
 */
async function readNeverRead(
  model: ReadModel,
  ids: readonly string[],
  status: AccountStatus | undefined,
  changes: Changes | undefined,
): Promise<ReadonlySet<string>> {
  if (status?.last_complete_walk_at === undefined) return model.neverRead(ids);
  const { written_at } = status;
  const { records } = changes ?? (await model.changes(written_at));
  const isNew = ({ kind, changed_at }: ChangedRecord) => kind === 'project' && changed_at > written_at;
  return model.neverRead([...new Set(records.filter(isNew).map(({ projectId }) => projectId))]);
}

/** A failed operation waits until the upstream tries it again. */
export function isRunning({ status }: OperationRecord): boolean {
  return status !== 'failed';
}

/** The sums of an hour are about all projects, so a visitor with some projects gets sums of these. */
export function visibleHour({ hour, counts }: CountedHour, caller: Caller): CountedHour {
  if (caller.projectIds === undefined) return { hour, counts };
  const failing = new Map([...counts.failing].filter(([id]) => maySee(caller, id)));
  const failed_count = [...failing.values()].reduce((sum, each) => sum + each.failed_count, 0);
  return { hour, counts: { started_count: 0, failed_count, failing } };
}

function visibleWork(work: WorkAtHand, caller: Caller): WorkAtHand {
  const isVisible = ({ project_id }: { readonly project_id: string }) => maySee(caller, project_id);
  return { ...work, open: work.open.filter(isVisible), commands: work.commands.filter(isVisible) };
}

/** A project has the first of these states that applies. Whether something runs there is another question. */
export const PROJECT_STATES = [
  'needs a person',
  'cannot be read',
  'not read yet',
  'acknowledged',
  'failing',
  'healthy',
] as const;

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
  /** The last attempts to read these projects did not come to their end. */
  readonly failing: ReadonlySet<string>;
  /** These projects were never read to their end, so nothing can be said of them. */
  readonly neverRead: ReadonlySet<string>;
}

export function projectRows(facts: ProjectFacts): readonly ProjectRow[] {
  const changedAt = latestChanges(facts.changes.records);
  const failures = failuresByProject(facts.hours);
  const concerns = gravestConcerns(facts.troubles);
  const stateOf = (id: string): ProjectState => {
    const concern = concerns.get(id);
    if (concern === 'needs a person') return concern;
    if (facts.neverRead.has(id)) return 'not read yet';
    if (facts.failing.has(id)) return 'cannot be read';
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
