/**
 * Gives the lane two further accounts of the same bridge, and a project that moves from one to the other while the world is
 * chaotic. Their service has no faults of its own: what goes wrong is the process, the table and the bus.
 */

import { seededRandom } from '../../../../shared/runtime/random.ts';
import { accountKey } from '../../../../shared/store/keys.ts';
import type { SendHttp } from '../../../../shared/upstream/pooled-http.ts';
import { anOperationRow, timeOf } from '../../../doors/poller/rows.ts';
import { createService, type Row, type Service } from '../../../doors/poller/service.ts';
import type { MemoryTable } from '../../memory-table.ts';
import type { Process } from '../../scheduler.ts';
import { dice, MINUTE_MS } from '../plan.ts';
import { START_MS, type Timeline } from '../timeline.ts';
import { inTime } from '../upstream/http-answer.ts';
import type { WideWorld } from '../world.ts';

export const MOVING_ACCOUNTS = ['moves-from', 'moves-to'] as const;
export const MOVING_PROJECT_ID = 'moving-pond-12345678';

export type MovingAccount = (typeof MOVING_ACCOUNTS)[number];

export interface MovingProject {
  readonly services: Readonly<Record<MovingAccount, Service>>;
  readonly movesAtMs: number;
  /** A minute before the project moves, the first listing of the account to which it moves has ended. */
  isToListed: boolean;
}

const SALT = 0x70e5;
const OPERATIONS = [6, 10] as const;

/** Returns undefined in a run without such a project. */
export function moveProject(
  world: WideWorld,
  timeline: Timeline,
  table: MemoryTable,
): MovingProject | undefined {
  const { plan, scheduler } = world;
  if (plan.faults.project_moved === 0) return undefined;
  const { whole, pick } = dice(seededRandom(plan.seed ^ SALT));
  const create = () => createService(() => scheduler.now());
  const services = { 'moves-from': create(), 'moves-to': create() };
  const [from, to] = [services['moves-from'], services['moves-to']];
  const { busy, calm } = timeline;
  const [first, second] = busy;
  const movesAtMs = second.fromMs + whole(0, 60) * 1_000;
  const at = (atMs: number, act: () => void) =>
    void scheduler.delay(undefined, atMs - scheduler.now()).then(act);
  const owner = () => (scheduler.now() < movesAtMs ? from : to);
  from.addProject(MOVING_PROJECT_ID, timeOf(START_MS));
  to.addProject('another-pond-12345678', timeOf(START_MS));
  const count = whole(...OPERATIONS);
  for (let number = 1; number <= count; number++) {
    const span = pick([first, second]);
    const createdMs = span.fromMs + whole(0, Math.floor((span.toMs - span.fromMs) / 1_000)) * 1_000;
    const row = anOperationRow(number, createdMs, { project_id: MOVING_PROJECT_ID });
    at(createdMs, () => owner().put(row));
    let changedMs = createdMs;
    for (const change of pick(LIVES)) {
      changedMs = Math.min(calm.fromMs, changedMs + whole(2, 90) * 1_000);
      const shown = { ...row, ...change, updated_at: timeOf(changedMs) };
      at(changedMs + 1, () => owner().put(shown));
    }
  }
  const moving: MovingProject = { services, movesAtMs, isToListed: false };
  at(movesAtMs - MINUTE_MS, () => {
    moving.isToListed = table.sync.peek(accountKey('moves-to'))?.['is_listed'] === true;
  });
  at(movesAtMs, () => {
    world.fire('project_moved');
    to.addProject(MOVING_PROJECT_ID, timeOf(START_MS));
    from.removeProject(MOVING_PROJECT_ID);
    for (const row of from.rows()) {
      to.put(row);
      from.remove(row.id);
    }
  });
  return moving;
}

type Life = readonly Partial<Row>[];

const LIVES: readonly [Life, ...Life[]] = [
  [{ status: 'finished' }],
  [
    { status: 'failed', failures_count: 1 },
    { status: 'running', failures_count: 1 },
    { status: 'finished', failures_count: 1 },
  ],
  [{ status: 'failed', failures_count: 1 }],
  [{ status: 'cancelling' }, { status: 'cancelled' }],
];

export const movingUrlOf = (account: MovingAccount) => `https://${account}.simulated/api/v2`;

/** Returns the port of HTTP of a lane that has the accounts, or the same one in a run that does not have them. */
export function withMovingProject(
  world: WideWorld,
  moving: MovingProject | undefined,
  owner: Process,
  http: SendHttp,
): SendHttp {
  if (moving === undefined) return http;
  const clock = world.scheduler.clockOf(owner);
  return (request) => {
    const account = MOVING_ACCOUNTS.find((id) => request.url.href.startsWith(movingUrlOf(id)));
    if (account === undefined) return http(request);
    return inTime(clock, request, async () => {
      const answer = await world.call(owner, world.plan.upstreamMs, () =>
        moving.services[account].send(request),
      );
      return answer;
    });
  };
}
