/**
 * Finds the operations in trouble and decides which of them need a person: what is how severe, what a later success or
 * a repeated command has settled, and what a person has acknowledged. Overview, list and pages of a project all ask
 * here. Shows troubles as rows of one line: how grave, where, what, the error, and since when; a person can take one
 * there.
 */

import { html } from 'hono/html';
import {
  hasLabel,
  type LabelledSubject,
  type ProjectLabel,
} from '../../../../shared/alerts/project-labels.ts';
import { type Caller, maySee } from '../../../../shared/callers/scopes.ts';
import type { CountedHour } from '../../../../shared/insights/hour-counts.ts';
import type { StateChangedEntry } from '../../../../shared/records/journal-entries.ts';
import { isGivenUp, isOpen, type OperationRecord } from '../../../../shared/records/operation-record.ts';
import { MINUTE_MS } from '../../../../shared/records/time.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { Successor } from '../../read-model/account-activity.ts';
import type { HeldBack } from '../../read-model/alerts.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import {
  acknowledgePath,
  type Html,
  mutesPath,
  operationPath,
  projectPath,
  stateBadge,
} from '../html/markup.ts';
import { type PageTime, shortAge, time } from '../html/times.ts';
import type { Visitor } from '../sign-in/visitor.ts';

/** These are the kinds of trouble, the gravest first. */
const TROUBLES = ['given_up', 'repeated', 'stalled', 'lasting', 'failing'] as const;

type Trouble = (typeof TROUBLES)[number];

/** A failed attempt is usually followed by a good one. After this many, a person should look. */
const REPEATED_FAILURES = 3;

/** Most failures have recovered by then, so alerts wait as long (docs/alerts.md). */
const LASTING_MS = 5 * MINUTE_MS;

/** Returns undefined for an operation that is well, or that has recovered. */
export function troubleOf(record: OperationRecord, nowMs: number): Trouble | undefined {
  const { status, failures_count, stalled_threshold_ms } = record;
  if (isGivenUp(record)) return 'given_up';
  if (!isOpen(record)) return undefined;
  if (failures_count >= REPEATED_FAILURES) return 'repeated';
  if (stalled_threshold_ms !== undefined) return 'stalled';
  if (status === 'failed' && nowMs - Date.parse(record.updated_at) > LASTING_MS) return 'lasting';
  return failures_count > 0 || status === 'failed' ? 'failing' : undefined;
}

export function needsPerson(trouble: Trouble | undefined): boolean {
  return trouble !== undefined && trouble !== 'failing';
}

/** Returns the text of the latest error that the upstream gave. */
export function latestError({ entries }: OperationRecord): string | undefined {
  const changes = entries.filter((entry): entry is StateChangedEntry => entry.type === 'state_changed');
  return changes.findLast(({ error }) => error !== undefined)?.error;
}

/** Holds the operations of one action of one project that are in trouble. */
interface TroubleGroup {
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
export const CONCERNS = ['needs a person', 'acknowledged', 'failing'] as const;

export type Concern = (typeof CONCERNS)[number];

/** The concern of a trouble follows from its kind and from who has acknowledged it. */
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

/** Without a label for production, the name of a project decides whether it counts as that. */
export function isProduction(label: ProjectLabel | undefined, project: LabelledSubject): boolean {
  return label === undefined ? /prod/i.test(project.project_name ?? '') : hasLabel(label, project);
}

/** Orders by severity, then production before all others, then by the latest change. Times are the upstream's. */
export function groupTroubles(
  records: readonly OperationRecord[],
  nowMs: number,
  isFirst: (projectId: string) => boolean = () => false,
): readonly TroubleGroup[] {
  const troubled = records.flatMap((record) => {
    const trouble = troubleOf(record, nowMs);
    return trouble === undefined ? [] : [{ record, trouble }];
  });
  const groups = Map.groupBy(troubled, ({ record }) => `${record.project_id}\n${record.action}`);
  const ranked = [...groups.values()].flatMap((members) => {
    const operations = members.map(({ record }) => record).toSorted(latestFirst);
    const found = new Set(members.map(({ trouble }) => trouble));
    const trouble = TROUBLES.find((each) => found.has(each)) ?? 'failing';
    const [latest] = operations;
    if (latest === undefined) return [];
    const { project_id, action, updated_at } = latest;
    const rank = TROUBLES.indexOf(trouble) * 2 + (isFirst(project_id) ? 0 : 1);
    return [{ rank, updated_at, group: { project_id, action, trouble, operations } }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank || b.updated_at.localeCompare(a.updated_at))
    .map(({ group }) => group);
}

function latestFirst(a: OperationRecord, b: OperationRecord): number {
  return b.updated_at.localeCompare(a.updated_at);
}

/** At most this many operations that failed last are looked at, which shows the troubles of a bad day. */
export const FAILED_READ_MAX = 50;

/** At most this many open incidents are looked at. They name what failed before the hours that are counted. */
export const INCIDENTS_READ_MAX = 40;

/** What is already known of an account, or of the one project that a page is about. */
interface TroubleSources {
  readonly open: readonly OperationRecord[];
  readonly hours: readonly CountedHour[];
  /** Of equal severity, the troubles of these projects come first. */
  readonly isFirst?: (projectId: string) => boolean;
  readonly nowMs: number;
  readonly projectId?: string;
  /** Only operations for which this is true are looked at. */
  readonly isAbout?: (record: OperationRecord) => boolean;
}

export interface Troubles {
  readonly troubles: readonly HeldTrouble[];
  /** The failures that a later operation has settled, each with that operation. */
  readonly settled: readonly { readonly failed: OperationRecord; readonly by: Successor }[];
  /** This is false when more operations have failed than were looked at. */
  readonly isWhole: boolean;
}

export async function readTroubles(
  model: ReadModel,
  caller: Caller,
  sources: TroubleSources,
): Promise<Troubles> {
  const { open, nowMs, isFirst, isAbout = () => true } = sources;
  const { records: failed, isWhole } = await readFailed(model, caller, sources);
  const records = [...open, ...failed].filter(isAbout);
  const grave = records.filter((record) => needsPerson(troubleOf(record, nowMs)));
  const settledBy = await model.settledBy(grave);
  const left = records.filter(({ operation_id }) => !settledBy.has(operation_id));
  const settled = grave.flatMap((record) => {
    const by = settledBy.get(record.operation_id);
    return by === undefined ? [] : [{ failed: record, by }];
  });
  return { troubles: await model.withHeldBack(groupTroubles(left, nowMs, isFirst)), settled, isWhole };
}

/** Reads the operations that failed last, and those of open incidents, without those that are known to be open. */
async function readFailed(
  model: ReadModel,
  caller: Caller,
  { open, hours, projectId }: TroubleSources,
): Promise<{ readonly records: readonly OperationRecord[]; readonly isWhole: boolean }> {
  const known = new Set(open.map(({ operation_id }) => operation_id));
  const isWanted = (id: string) => maySee(caller, id) && (projectId ?? id) === id;
  const latest = new Map<string, string>();
  for (const { counts } of hours.toReversed())
    for (const [id, { operation_id }] of [...counts.failing].toReversed())
      if (isWanted(id) && !known.has(operation_id)) latest.set(operation_id, id);
  const incidents = await model.incidents('open', { limit: INCIDENTS_READ_MAX });
  for (const { project_id = '', operations } of incidents.items)
    for (const [id, { state }] of Object.entries(operations))
      if (isWanted(project_id) && state !== 'recovered' && !known.has(id)) latest.set(id, project_id);
  const wanted = [...latest].slice(0, FAILED_READ_MAX);
  const found = await Promise.all(wanted.map(([id, of]) => unlessUnreadable(model.operation(of, id))));
  const isWhole = latest.size <= FAILED_READ_MAX && incidents.next === undefined;
  return { records: found.flatMap((record) => record ?? []), isWhole };
}

export interface ProjectTroubles extends Troubles {
  /** The operations that have not ended, oldest first. */
  readonly open: readonly OperationRecord[];
}

/** A page about a part of a project asks here. `seen` are operations that the page has read anyway. */
export async function readProjectTroubles(
  { model, caller }: Visitor,
  projectId: string,
  {
    seen = [],
    ...rest
  }: Pick<TroubleSources, 'nowMs' | 'isAbout'> & { readonly seen?: readonly OperationRecord[] },
): Promise<ProjectTroubles> {
  const [open, hours] = await Promise.all([model.openOperations(projectId), model.countedHours()]);
  const known = new Map([...open, ...seen].map((record) => [record.operation_id, record]));
  const sources = { ...rest, open: [...known.values()], hours, projectId };
  return { ...(await readTroubles(model, caller, sources)), open: open.filter(rest.isAbout ?? (() => true)) };
}

export interface TroublePage {
  readonly accountId: string;
  readonly names: ReadonlyMap<string, string>;
  /** Rows of a page about one project do not name it. */
  readonly isOfProject?: boolean;
  readonly caller: Caller;
  readonly formKey: string;
  /** An acknowledgement leads back to this page. */
  readonly path: string;
  readonly at: PageTime;
}

interface Kind {
  readonly words: string;
  readonly tone: 'bad' | 'busy' | 'calm';
}

/** What the upstream does not end by itself is red, what may still end is amber, and what is young is grey. */
const KINDS: Readonly<Record<Trouble, Kind>> = {
  given_up: { words: 'given up', tone: 'bad' },
  repeated: { words: 'failed repeatedly', tone: 'bad' },
  stalled: { words: 'open unusually long', tone: 'busy' },
  lasting: { words: 'not recovered', tone: 'busy' },
  failing: { words: 'is retried', tone: 'calm' },
};

function troubleBadge(trouble: Trouble, isTaken = false): Html {
  const { words, tone } = KINDS[trouble];
  return stateBadge(isTaken ? 'accent' : tone, isTaken ? '◆' : '▲', words);
}

/** The overview has everything that a person should know of at once. The list of projects has the rest. */
const ROWS_MAX = 30;

/** What a person has acknowledged stands apart, because no other person needs to look at it. */
export function troubleSections(
  page: TroublePage,
  found: Troubles,
  more: (count: number) => Html | string = (count) => `${count} more`,
): Html {
  const of = (wanted: Concern) => found.troubles.filter((trouble) => concernOf(trouble) === wanted);
  const [grave, taken, healing] = [of('needs a person'), of('acknowledged'), of('failing')];
  const { settled } = found;
  const table = (groups: readonly HeldTrouble[]) => troubleTable(page, groups.slice(0, ROWS_MAX));
  return html`${grave.length === 0 ? '' : table(grave)}
${grave.length > ROWS_MAX ? html`<p>${more(grave.length - ROWS_MAX)}</p>` : ''}
${found.isWhole ? '' : html`<p class="quiet">More has failed than this page looks at. The pages of the projects have everything.</p>`}
${taken.length === 0 ? '' : html`<details id="taken"><summary>${counted(taken.length, 'trouble')} that a person has acknowledged</summary>${table(taken)}</details>`}
${healing.length === 0 ? '' : html`<details id="healing"><summary>${counted(healing.length, 'failure')} that the upstream is retrying</summary>${table(healing)}</details>`}
${settled.length === 0 ? '' : html`<details id="settled"><summary>${counted(settled.length, 'failure')} that a later success or a repeated command has settled</summary>${settledTable(page, settled.slice(0, ROWS_MAX))}</details>`}`;
}

/** A page about a part of a project opens on this. */
export function troubleVerdict({ troubles }: Troubles, isRead = true): Html {
  const worst = CONCERNS.find((concern) => troubles.some((trouble) => concernOf(trouble) === concern));
  const [tone, mark, words] =
    worst !== undefined
      ? VERDICTS[worst]
      : isRead
        ? (['good', '●', 'Nothing that was seen of it fails'] as const)
        : (['odd', '?', 'It is not read yet, so nothing can be said of it'] as const);
  return html`<p class="verdict"><span class="${tone}"><span aria-hidden="true">${mark}</span> ${words}</span></p>`;
}

const VERDICTS: Readonly<Record<Concern, readonly [tone: string, mark: string, words: string]>> = {
  'needs a person': ['bad', '▲', 'It needs a person'],
  acknowledged: ['accent', '◆', 'A person takes care of what fails'],
  failing: ['busy', '◐', 'Something has failed, and the upstream is retrying it'],
};

function troubleTable(page: TroublePage, groups: readonly HeldTrouble[]): Html {
  return html`<table class="stack dense"><thead><tr><th>What</th>${page.isOfProject ? '' : html`<th>Project</th>`}<th>Action</th><th class="wide">Error</th><th class="number">Failed</th><th>Last change</th>${mayAcknowledge(page) ? html`<th><span class="only-read">Take it</span></th>` : ''}</tr></thead>
<tbody>${groups.map((group) => rowOf(page, group))}</tbody></table>`;
}

function mayAcknowledge({ caller }: TroublePage): boolean {
  return caller.scopes.has('alerts:mute');
}

function rowOf(page: TroublePage, group: HeldTrouble): Html | '' {
  const { accountId, at } = page;
  const { project_id, action, trouble, operations, held_back } = group;
  const [latest] = operations;
  if (latest === undefined) return '';
  const failedCount = operations.reduce((sum, { failures_count }) => sum + failures_count, 0);
  const error = latestError(latest) ?? '';
  const taken = held_back.acknowledged;
  return html`<tr><td>${troubleBadge(trouble, taken !== undefined)}${mutedWords(held_back, at)}</td>
${page.isOfProject ? '' : html`<td>${projectName(page, project_id)}</td>`}
<td><a href="${operationPath(accountId, project_id, latest.operation_id)}">${action}</a>${operations.length > 1 ? html` <span class="quiet">+${operations.length - 1}</span>` : ''}</td>
<td class="wide" title="${error}">${error}</td>
<td class="number" data-label="Failed attempts">${failedCount === 0 ? '' : failedCount}</td>
<td>${shortAge(latest.updated_at, at)}</td>${mayAcknowledge(page) ? html`<td>${taken !== undefined ? html`<span class="quiet">by ${taken.client_id}</span>` : concernOf(group) === 'needs a person' ? acknowledgeForm(page, held_back, latest) : ''}</td>` : ''}</tr>`;
}

function projectName({ accountId, names }: TroublePage, projectId: string): Html {
  return html`<a href="${projectPath(accountId, projectId)}" title="${projectId}">${names.get(projectId) ?? projectId}</a>`;
}

/** The form names an operation, because no incident is known yet of what failed before the bridge watched. */
export function acknowledgeForm(
  { formKey, path }: Pick<TroublePage, 'formKey' | 'path'>,
  { incident_id }: HeldBack,
  { project_id, operation_id, action }: OperationRecord,
): Html {
  const fields = { form_key: formKey, back: path, project_id, operation_id };
  return html`<form method="post" action="${acknowledgePath(incident_id)}">${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button title="Acknowledge ${action}">Acknowledge</button></form>`;
}

function mutedWords({ mute }: HeldBack, at: PageTime): Html | '' {
  return mute === undefined
    ? ''
    : html` <a class="quiet" href="${mutesPath({})}">muted until ${time(mute.until, at)}</a>`;
}

function settledTable(page: TroublePage, settled: Troubles['settled']): Html {
  const { accountId, at } = page;
  return html`<table class="stack dense"><thead><tr><th>Failed</th>${page.isOfProject ? '' : html`<th>Project</th>`}<th>Settled by</th></tr></thead>
<tbody>${settled.map(
    ({ failed: { project_id, operation_id, action }, by }) =>
      html`<tr><td><a href="${operationPath(accountId, project_id, operation_id)}">${action}</a></td>${page.isOfProject ? '' : html`<td>${projectName(page, project_id)}</td>`}<td><a href="${operationPath(accountId, project_id, by.operation_id)}">${settledWords(by)}</a> <span class="quiet">${shortAge(by.updated_at, at)}</span></td></tr>`,
  )}</tbody></table>`;
}

export function settledWords({ status, command }: Troubles['settled'][number]['by']): string {
  if (status === 'finished')
    return command === undefined ? 'a later success' : `a success that ${command.client_id} asked for`;
  return `a command of ${command?.client_id ?? 'a caller'} (${status})`;
}
