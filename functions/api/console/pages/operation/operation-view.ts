/** Reads what the page of an operation shows. */

import type { PerAccount } from '../../../../../shared/accounts/per-account.ts';
import { maySee } from '../../../../../shared/callers/authorize.ts';
import type { CommandRecord } from '../../../../../shared/core/records/command-record.ts';
import type { OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../../shared/store/unreadable.ts';
import { eventsOf, type FeedEvent } from '../../../read-model/feed-event.ts';
import type { HeldBack } from '../../../read-model/held-back.ts';
import type { ReadModel } from '../../../read-model/read-model.ts';
import { upstreamPageOf } from '../../deciding/operation-story.ts';
import type { PageTime } from '../../html/time/times.ts';
import { formKey } from '../../session/session.ts';
import type { Visitor } from '../../session/visitor.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { actionsFor, type EndpointAction } from '../project/endpoint-actions.ts';
import { readEndedDays, usualWords } from '../project/usual-times.ts';
import { type RouteDeps, readUpstream } from '../upstream-view.ts';
import type { SentAlerts } from './alert-history.ts';

export interface OperationDeps extends RefusalDeps, RouteDeps {
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
  /**
   * This is the upstream's present answer. It is undefined when the upstream gives none, or the caller must not ask.
   */
  readonly upstream: unknown;
  /** This says how long its action usually takes. It is undefined when too little is known. */
  readonly usual: string | undefined;
  /** The upstream's own console shows the operation at this address. */
  readonly upstreamPage: string | undefined;
  /** The visitor may do this with the compute of the operation. */
  readonly actions: readonly EndpointAction[];
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
  const [others, command, upstream, alerts, endedDays, names, alike, [place]] = await Promise.all([
    model.openOperations(project_id),
    record.command && unlessUnreadable(model.command(project_id, record.command.request_id)),
    readUpstream(deps, 'getOperation', { caller, ids: { project_id, operation_id } }),
    deps.alertsOf(record),
    readEndedDays(visitor, project_id),
    model.projectNames(),
    record.failures_count > 0 ? readAlike(model, record) : [],
    model.withHeldBack([{ project_id, action: record.action }]),
  ]);
  return {
    record,
    names,
    events: eventsOf(record),
    command,
    others: others.filter((other) => other.operation_id !== operation_id),
    alike: alike.filter((other) => maySee(caller, other.project_id)),
    upstream,
    alerts,
    held: place?.held_back,
    usual: usualWords(record.action, endedDays),
    upstreamPage: upstreamPageOf(record, deps.upstreamPages.get(record.account_id)),
    actions: actionsFor(deps, caller),
    seesAll: caller.projectIds === undefined,
    mayAudit: caller.scopes.has('audit:read'),
    mayMute: caller.scopes.has('alerts:mute'),
    formKey: formKey(session, pepper),
    at,
  };
}

async function readAlike(
  model: Pick<ReadModel, 'countedHours' | 'operation'>,
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
