/** Reads what the overview and the list of projects rest on. A visitor with some projects sees only these. */

import { type Caller, maySee } from '../../../../../shared/callers/authorize.ts';
import type { AccountStatus } from '../../../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import type { CountedHour } from '../../../../../shared/insights/hour-counts-store.ts';
import { unlessUnreadable } from '../../../../../shared/store/unreadable.ts';
import type { Health } from '../../../bridge/decide-health.ts';
import { type HealthDeps, readHealth } from '../../../bridge/health-routes.ts';
import type { Changes } from '../../../read-model/account-activity.ts';
import type { WorkAtHand } from '../../../read-model/open-work.ts';
import type { ReadModel } from '../../../read-model/read-model.ts';
import { type ProjectFacts, type ProjectRow, projectRows } from '../../deciding/project-rows.ts';
import { groupTroubles, type HeldTrouble } from '../../deciding/troubles.ts';
import type { Visitor } from '../../session/visitor.ts';

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
  model: Pick<ReadModel, 'operation'>,
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
