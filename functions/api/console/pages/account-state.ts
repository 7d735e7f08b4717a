/**
 * Reads what the overview and the list of projects rest on, and derives the table of projects and which operations
 * need a person. A visitor with some projects sees only these.
 */

import { type Caller, maySee } from '../../../../shared/callers/scopes.ts';
import type { AccountStatus } from '../../../../shared/core/records/account-status.ts';
import { isOpen, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { MINUTE_MS } from '../../../../shared/core/time.ts';
import type { CountedHour } from '../../../../shared/insights/hour-counts.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { type Health, type HealthDeps, readHealth } from '../../bridge/health-routes.ts';
import type { ChangedRecord, Changes, WorkAtHand } from '../../read-model/account-activity.ts';
import type { HeldBack } from '../../read-model/alerts.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import type { Visitor } from '../sign-in/visitor.ts';

/** At most this many operations that failed last are looked at, which shows the troubles of a bad day. */
const FAILED_READ_MAX = 50;

export interface AccountState {
  readonly status: AccountStatus | undefined;
  readonly health: Health;
  readonly work: WorkAtHand;
  readonly hours: readonly CountedHour[];
  readonly names: ReadonlyMap<string, string>;
  readonly troubles: readonly HeldTrouble[];
  readonly projects: readonly ProjectRow[];
  /** It is false when the account has more projects than were read. */
  readonly areProjectsWhole: boolean;
}

/** `changes` are needed only where the last activity of projects is shown. */
export async function readAccountState(
  deps: HealthDeps,
  { caller, model }: Pick<Visitor, 'caller' | 'model'>,
  changes: Changes = { records: [], back_to: undefined },
): Promise<AccountState> {
  const [allWork, hours, names, ids] = await Promise.all([
    model.workAtHand(),
    model.countedHours().then((all) => all.map((hour) => visibleHour(hour, caller))),
    model.projectNames(),
    model.projectIds(),
  ]);
  const work = visibleWork(allWork, caller);
  const [{ status, health }, failed] = await Promise.all([
    readHealth(deps, { unpublished: async () => allWork.unpublished }, caller),
    readFailed(model, hours, work.open),
  ]);
  const troubles = await model.withHeldBack(groupTroubles([...work.open, ...failed], deps.clock.now()));
  const unread = status?.unread_projects ?? [];
  const facts: ProjectFacts = {
    ids: ids.ids.filter((id) => maySee(caller, id)),
    names,
    changes,
    hours,
    troubles,
    running: new Set(work.open.filter(isRunning).map(({ project_id }) => project_id)),
    unread: new Set(unread.map(({ project_id }) => project_id)),
  };
  const projects = projectRows(facts);
  return { status, health, work, hours, names, troubles, projects, areProjectsWhole: ids.isWhole };
}

/** A failed operation waits until the upstream tries it again. */
export function isRunning({ status }: Pick<OperationRecord, 'status'>): boolean {
  return status !== 'failed';
}

/** The sums of an hour are about all projects, so a visitor with some projects gets sums of these. */
function visibleHour({ hour, counts }: CountedHour, caller: Caller): CountedHour {
  if (caller.projectIds === undefined) return { hour, counts };
  const failing = new Map([...counts.failing].filter(([id]) => maySee(caller, id)));
  const failed_count = [...failing.values()].reduce((sum, each) => sum + each.failed_count, 0);
  return { hour, counts: { started_count: 0, failed_count, failing } };
}

function visibleWork(work: WorkAtHand, caller: Caller): WorkAtHand {
  const isVisible = ({ project_id }: { readonly project_id: string }) => maySee(caller, project_id);
  return { ...work, open: work.open.filter(isVisible), commands: work.commands.filter(isVisible) };
}

/** Reads the operations that failed last, without those that are known to be open. */
async function readFailed(
  model: ReadModel,
  hours: readonly CountedHour[],
  open: readonly OperationRecord[],
): Promise<readonly OperationRecord[]> {
  const known = new Set(open.map(({ operation_id }) => operation_id));
  const latest = new Map<string, string>();
  for (const { counts } of hours.toReversed())
    for (const [projectId, { operation_id }] of [...counts.failing].toReversed())
      if (!known.has(operation_id) && latest.size < FAILED_READ_MAX) latest.set(operation_id, projectId);
  const found = await Promise.all(
    [...latest].map(([id, projectId]) => unlessUnreadable(model.operation(projectId, id))),
  );
  return found.flatMap((record) => record ?? []);
}

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

/** These are the kinds of trouble, the gravest first. */
const TROUBLES = ['given_up', 'repeated', 'stalled', 'lasting', 'failing'] as const;

export type Trouble = (typeof TROUBLES)[number];

/** A failed attempt is usually followed by a good one. After this many, a person should look. */
const REPEATED_FAILURES = 3;

/** Most failures have recovered by then, so alerts wait as long (docs/alerts.md). */
const LASTING_MS = 5 * MINUTE_MS;

/** Returns undefined for an operation that is well, or that has recovered. */
export function troubleOf(record: OperationRecord, nowMs: number): Trouble | undefined {
  const { status, failures_count, stalled_threshold_ms } = record;
  if (status === 'error' || (record.watch_ended && status === 'failed')) return 'given_up';
  if (!isOpen(record)) return undefined;
  if (failures_count >= REPEATED_FAILURES) return 'repeated';
  if (stalled_threshold_ms !== undefined) return 'stalled';
  if (status === 'failed' && nowMs - Date.parse(record.updated_at) > LASTING_MS) return 'lasting';
  return failures_count > 0 || status === 'failed' ? 'failing' : undefined;
}

export function needsPerson(trouble: Trouble | undefined): boolean {
  return trouble !== undefined && trouble !== 'failing';
}

/** Holds the operations of one action of one project that are in trouble. */
export interface TroubleGroup {
  readonly project_id: string;
  readonly action: string;
  /** The gravest trouble of the group. */
  readonly trouble: Trouble;
  /** The operation that changed last comes first. */
  readonly operations: readonly OperationRecord[];
}

/** A trouble with what holds its alerts back. */
export type HeldTrouble = TroubleGroup & { readonly held_back: HeldBack };

/** What people do about a trouble. */
const CONCERNS = ['needs a person', 'acknowledged', 'failing'] as const;

export type Concern = (typeof CONCERNS)[number];

/** What people do depends on these. */
export interface Concerning extends Pick<TroubleGroup, 'trouble'> {
  readonly held_back: Pick<HeldBack, 'acknowledged'>;
}

/**
 * A trouble that a person has acknowledged is in good hands. A mute holds back its alerts only, so a muted trouble
 * still needs a person.
 */
export function concernOf({ trouble, held_back }: Concerning): Concern {
  if (!needsPerson(trouble)) return 'failing';
  return held_back.acknowledged === undefined ? 'needs a person' : 'acknowledged';
}

/** Returns the group whose operation changed last first. Times are the upstream's. */
export function groupTroubles(records: readonly OperationRecord[], nowMs: number): readonly TroubleGroup[] {
  const troubled = records.flatMap((record) => {
    const trouble = troubleOf(record, nowMs);
    return trouble === undefined ? [] : [{ record, trouble }];
  });
  const groups = Map.groupBy(troubled, ({ record }) => `${record.project_id}\n${record.action}`);
  return [...groups.values()]
    .map((members) => {
      const operations = members.map(({ record }) => record).toSorted(latestFirst);
      const found = new Set(members.map(({ trouble }) => trouble));
      return { operations, trouble: TROUBLES.find((each) => found.has(each)) ?? 'failing' };
    })
    .flatMap(({ operations, trouble }) => {
      const [latest] = operations;
      return latest === undefined
        ? []
        : [{ project_id: latest.project_id, action: latest.action, trouble, operations }];
    })
    .toSorted((a, b) => latestFirst(a.operations[0], b.operations[0]));
}

function latestFirst(a: OperationRecord | undefined, b: OperationRecord | undefined): number {
  return (b?.updated_at ?? '').localeCompare(a?.updated_at ?? '');
}
