/**
 * Reads what the page of an operation shows, derives what happened to it, by the upstream's clock first and by ours
 * beside it, and says how long operations like it usually take.
 */

import { html } from 'hono/html';
import type { PerAccount } from '../../../../shared/accounts/account-directory.ts';
import type { Alike, AlikeNow, Begun } from '../../../../shared/alerts/common-cause.ts';
import { type Caller, maySee } from '../../../../shared/callers/scopes.ts';
import {
  type DayInsights,
  INSIGHT_DAYS,
  insightsOf,
  usualDurationOf,
} from '../../../../shared/insights/day-insights.ts';
import type { CommandRecord } from '../../../../shared/records/command-record.ts';
import type { StateChangedEntry } from '../../../../shared/records/journal-entries.ts';
import { isOpen, type OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { Successor } from '../../read-model/account-activity.ts';
import type { HeldBack, SentAlerts } from '../../read-model/alerts.ts';
import { eventsOf, type FeedEvent } from '../../read-model/event-feed.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import type { Html } from '../html/markup.ts';
import { duration, type PageTime } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import { actionsFor, type EndpointAction } from './compute-page.ts';
import { latestError, troubleOf } from './troubles.ts';
import { type RouteDeps, readComputes, readUpstream } from './visitor-calls.ts';

export interface OperationDeps extends RefusalDeps, RouteDeps {
  readonly alikeNow: AlikeNow;
  readonly alertsOf: (record: OperationRecord) => Promise<readonly SentAlerts[]>;
  readonly clock: Clock;
  /** Accounts for which no pattern of the upstream's pages is set have none. */
  readonly upstreamPages: PerAccount<string>;
}

export interface OperationView {
  readonly record: OperationRecord;
  /** These are the names of the projects by their ids, as far as they are known. */
  readonly names: ReadonlyMap<string, string>;
  readonly events: readonly FeedEvent[];
  readonly command: CommandRecord | undefined;
  readonly alerts: readonly SentAlerts[];
  /** These hold back alerts about its action in its project. */
  readonly held: HeldBack | undefined;
  /** These are the other open operations of the project. */
  readonly others: readonly OperationRecord[];
  /** These operations of the same action failed last in other projects, in the last 24 hours. */
  readonly alike: readonly OperationRecord[];
  /** The rule of the alerts says so of what fails now. Without evidence it is undefined. */
  readonly common: Alike | undefined;
  /**
   * This is the upstream's present answer. It is undefined when the upstream gives none, or the caller must not ask.
   */
  readonly upstream: unknown;
  /** This says how long its action usually takes. It is undefined when too little is known. */
  readonly usual: string | undefined;
  /** The upstream's own console shows the operation at this address. */
  readonly upstreamPage: string | undefined;
  /** This operation has settled the failure: a later success of the same action on the same object, or a repetition. */
  readonly settledBy: Successor | undefined;
  /** The visitor came here by repeating the operation with this id. */
  readonly repeats?: string | undefined;
  /** How the operation is repeated, or a sentence on why it is not. It is undefined while it is under way. */
  readonly repeat: Repetition | string | undefined;
  /** It is false when the visitor sees some projects only. */
  readonly seesAll: boolean;
  readonly mayAudit: boolean;
  readonly mayMute: boolean;
  readonly formKey: string;
  readonly at: PageTime;
}

/** At most this many operations of other projects are compared with this one. */
const COMPARED_MAX = 40;

export async function readOperationView(
  deps: OperationDeps,
  visitor: Visitor,
  record: OperationRecord,
  at: PageTime,
): Promise<OperationView> {
  const { caller, model, session, pepper } = visitor;
  const { project_id, operation_id } = record;
  const [others, command, upstream, alerts, endedDays, names, alike, common, [place], settled, repeat] =
    await Promise.all([
      model.openOperations(project_id),
      record.command && unlessUnreadable(model.command(project_id, record.command.request_id)),
      readUpstream(deps, 'getOperation', { caller, ids: { project_id, operation_id } }),
      deps.alertsOf(record),
      readEndedDays(visitor, project_id),
      model.projectNames(),
      record.failures_count > 0 ? readAlike(model, record) : [],
      record.failures_count > 0 ? deps.alikeNow(record.account_id, begunOf(record)) : undefined,
      model.withHeldBack([{ project_id, action: record.action }]),
      troubleOf(record, at.nowMs) === undefined ? undefined : model.settledBy([record]),
      decideRepeat(deps, caller, record),
    ]);
  return {
    record,
    names,
    events: eventsOf(record),
    command,
    others: others.filter((other) => other.operation_id !== operation_id),
    alike: alike.filter((other) => maySee(caller, other.project_id)),
    common,
    upstream,
    alerts,
    held: place?.held_back,
    usual: usualWords(record.action, endedDays),
    upstreamPage: upstreamPageOf(record, deps.upstreamPages.get(record.account_id)),
    settledBy: settled?.get(operation_id),
    repeat,
    seesAll: caller.projectIds === undefined,
    mayAudit: caller.scopes.has('audit:read'),
    mayMute: caller.scopes.has('alerts:mute'),
    formKey: formKey(session, pepper),
    at,
  };
}

interface Repetition {
  readonly action: EndpointAction;
  readonly endpointId: string;
}

/** These operations do what a call asks for that needs no values. */
const REPEATED_BY: Readonly<Record<string, EndpointAction>> = {
  start_compute: 'start',
  suspend_compute: 'suspend',
};

/** What comes about by a call with values, which the bridge does not keep, or by the service alone, has a reason here. */
const NOT_REPEATED: Readonly<Record<string, string>> = {
  apply_config:
    'It cannot be repeated here: the bridge does not keep the values that it was to apply. Send the same change once more.',
  apply_storage_config:
    'It cannot be repeated here: the bridge does not keep the values that it was to apply. Send the same change once more.',
  create_branch:
    'It cannot be repeated here: the bridge does not keep what the branch was to be made of. Create the branch once more.',
  create_timeline: 'It cannot be repeated here: it is a part of creating the project.',
  delete_tenant: 'It cannot be repeated here: it is a part of deleting the project.',
};

const NO_CALL = 'It cannot be repeated here: the service starts it by itself, and no call asks for it alone.';

async function decideRepeat(
  deps: RouteDeps,
  caller: Caller,
  record: OperationRecord,
): Promise<OperationView['repeat']> {
  if (isOpen(record) && record.status !== 'failed') return undefined;
  const { project_id, endpoint_id: endpointId } = record;
  const action = REPEATED_BY[record.action];
  if (action === undefined || endpointId === undefined) return NOT_REPEATED[record.action] ?? NO_CALL;
  if (!actionsFor(deps, caller).includes(action))
    return 'Your token may not repeat it: that needs the scope computes:restart.';
  const computes = await readComputes(deps, caller, project_id);
  const compute = computes?.find(({ id }) => id === endpointId);
  if (computes !== undefined && compute === undefined)
    return 'It cannot be repeated: its compute does not exist any more.';
  const isDone = compute?.state === (action === 'start' ? 'active' : 'idle');
  return isDone ? `It needs no repetition: its compute is ${compute.state}.` : { action, endpointId };
}

async function readAlike(
  model: ReadModel,
  { project_id, action }: OperationRecord,
): Promise<readonly OperationRecord[]> {
  const latest = new Map<string, string>();
  for (const { counts } of (await model.countedHours()).toReversed())
    for (const [projectId, { operation_id }] of [...counts.failing].toReversed())
      if (projectId !== project_id && !latest.has(projectId) && latest.size < COMPARED_MAX)
        latest.set(projectId, operation_id);
  const found = await Promise.all(
    [...latest].map(([projectId, id]) => unlessUnreadable(model.operation(projectId, id))),
  );
  return found.flatMap((record) => (record?.action === action ? [record] : []));
}

function begunOf(record: OperationRecord): Begun {
  const { project_id, action, updated_at } = record;
  return { project_id, action, beganMs: Date.parse(attemptsOf(record)[0]?.at ?? updated_at) };
}

/** One attempt of the operation, or several that failed between two readings. */
export interface Attempt {
  /** Attempts are counted from 1. */
  readonly first: number;
  readonly last: number;
  readonly outcome: 'failed' | 'given up' | 'ended' | 'under way';
  /** The upstream changed the operation at this time (ISO 8601). */
  readonly at: string;
  readonly error: string | undefined;
}

/** Returns when the operation got its present status, by the upstream's clock (ISO 8601). */
export function statusSince(record: OperationRecord): string {
  const changes = stateChanges(record);
  const other = changes.findLastIndex(({ status }) => status !== record.status);
  return changes[other + 1]?.operation_updated_at ?? record.updated_at;
}

/** Returns how long after the upstream's change the bridge saw it, in milliseconds. Clocks may differ. */
export function seenAfterMs({
  observed_at,
  operation_updated_at,
}: Pick<StateChangedEntry, 'observed_at' | 'operation_updated_at'>): number {
  return Math.max(0, Date.parse(observed_at) - Date.parse(operation_updated_at));
}

/** Returns the attempts that are known, oldest first. An operation that has not failed has one. */
export function attemptsOf(record: OperationRecord): readonly Attempt[] {
  const changes = stateChanges(record);
  const failed = changes
    .filter(({ new_failures }) => new_failures > 0)
    .map(({ failures_count, new_failures, operation_updated_at, error }) => ({
      first: failures_count - new_failures + 1,
      last: failures_count,
      outcome: 'failed' as const,
      at: operation_updated_at,
      error,
    }));
  const latest = changes.at(-1);
  const outcome = latest && presentOutcome(record.status);
  if (latest === undefined || outcome === undefined) return failed;
  const number = record.failures_count + 1;
  // An operation is given up because of the failures that were counted, and is not tried once more for it.
  const { operation_updated_at: at } = latest;
  // The upstream keeps naming the error of the attempt before, also when the operation has ended well.
  const error = outcome === 'given up' ? latest.error : undefined;
  const present = { first: number, last: number, outcome, at, error };
  return outcome === 'given up' && failed.length > 0 ? failed : [...failed, present];
}

function presentOutcome(status: string): Attempt['outcome'] | undefined {
  if (status === 'failed') return undefined;
  if (status === 'error') return 'given up';
  return ['finished', 'skipped', 'cancelled'].includes(status) ? 'ended' : 'under way';
}

export function stateChanges({ entries }: OperationRecord): readonly StateChangedEntry[] {
  return entries.flatMap((entry) => (entry.type === 'state_changed' ? [entry] : []));
}

/** Returns the address in the upstream's own console, or undefined when the pattern needs an id that the operation lacks. */
export function upstreamPageOf(record: OperationRecord, pattern: string | undefined): string | undefined {
  const ids: Readonly<Record<string, string | undefined>> = {
    project_id: record.project_id,
    operation_id: record.operation_id,
    branch_id: record.branch_id,
    endpoint_id: record.endpoint_id,
  };
  const names = [...(pattern ?? '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => ids[name] === undefined)) return undefined;
  return pattern?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(ids[name] ?? ''));
}

/** Returns the text that helps the upstream's support: the ids and the upstream's times, and no name of a person. */
export function supportText(record: OperationRecord): string {
  const error = latestError(record);
  const lines = [
    ['project', record.project_id],
    ['operation', record.operation_id],
    ['action', record.action],
    ['status', record.status],
    ['failed attempts', String(record.failures_count)],
    ['branch', record.branch_id],
    ['compute', record.endpoint_id],
    ['created at', record.created_at],
    ['updated at', record.updated_at],
    ['error', error],
  ] as const;
  const changes = stateChanges(record).map(
    ({ operation_updated_at, status, failures_count }) =>
      `  ${operation_updated_at} ${status}${failures_count > 0 ? `, ${failures_count} failed` : ''}`,
  );
  const facts = lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [...facts, ...(changes.length > 0 ? ['history (times of the upstream):', ...changes] : [])].join(
    '\n',
  );
}

/** Holds what is known of the last days. That of the account is empty for a visitor who is limited to projects. */
export interface EndedDays {
  readonly ofProject: readonly DayInsights[];
  readonly ofAccount: readonly DayInsights[];
}

export async function readEndedDays({ caller, model }: Visitor, projectId: string): Promise<EndedDays> {
  const [ofProject, ofAccount] = await Promise.all([
    model.endedDays(projectId),
    caller.projectIds === undefined ? model.endedDays() : [],
  ]);
  return { ofProject, ofAccount };
}

/** Returns undefined when too few operations of the action have ended. */
function usualWords(action: string, { ofProject, ofAccount }: EndedDays): string | undefined {
  const usual = usualDurationOf(action, ofProject, ofAccount);
  if (usual === undefined) return undefined;
  const place = usual.basis === 'project' ? 'this project' : 'the account';
  return `${duration(usual.p50_ms)}, and 99 of 100 end within ${duration(usual.p99_ms)} (${usual.operation_count} operations of ${place} in ${INSIGHT_DAYS} days)`;
}

/** Returns nothing when too few operations of each action have ended in the project. */
export function usualTable({ ofProject }: EndedDays): Html | '' {
  const insights = insightsOf(ofProject);
  if (insights.length === 0) return '';
  return html`<h2>How long it usually takes</h2>
<table class="stack"><thead><tr><th>Action</th><th>Half end within</th><th>95 of 100</th><th>99 of 100</th><th>Attempts, 99 of 100</th><th>Operations in ${INSIGHT_DAYS} days</th></tr></thead>
<tbody>${insights.map(
    ({ action, durationMs, attempts }) =>
      html`<tr><td>${action}</td><td data-label="Half within">${duration(durationMs.p50)}</td><td data-label="95 of 100">${duration(durationMs.p95)}</td><td data-label="99 of 100">${duration(durationMs.p99)}</td><td data-label="Attempts">${attempts.p99}</td><td data-label="Operations">${durationMs.count}</td></tr>`,
  )}</tbody></table>`;
}
