/**
 * An upstream that knows projects, locks and restarts. It answers 423 while an operation of the project is at work, and
 * keeps a log of what reached it, by which the tests judge.
 */

import type { Operation } from '../../../shared/records/operation-record.ts';
import { isoTimeOf } from '../../../shared/records/time.ts';
import type { Process } from '../../simulation/scheduler.ts';
import type { World } from '../../simulation/world.ts';

interface ModelOperation {
  readonly id: string;
  readonly projectId: string;
  readonly createdMs: number;
  readonly endsMs: number;
}

interface ReceivedCommand {
  readonly atMs: number;
  readonly projectId: string;
  /** Each command of the tests restarts a compute of its own. */
  readonly endpointId: string;
  readonly status: number;
}

export interface LockingUpstream {
  readonly received: ReceivedCommand[];
  fetchFor(owner: Process): typeof fetch;
  operationsOf(projectId: string): readonly Operation[];
  /** Somebody else starts an operation on the project. */
  disturb(projectId: string): void;
}

export const UPSTREAM_URL = 'https://upstream.test/api/v2';

const OPERATION_MS_MAX = 12_000;

export function createLockingUpstream(world: World): LockingUpstream {
  const operations = new Map<string, ModelOperation[]>();
  const received: ReceivedCommand[] = [];
  let count = 0;

  const nowMs = () => world.scheduler.now();
  const ofProject = (projectId: string) => operations.get(projectId) ?? [];
  const isLocked = (projectId: string) => ofProject(projectId).some(({ endsMs }) => endsMs > nowMs());
  const start = (projectId: string): ModelOperation => {
    const createdMs = nowMs();
    const durationMs = 1_000 + world.random.next() * OPERATION_MS_MAX;
    const operation = { id: `op-${++count}`, projectId, createdMs, endsMs: createdMs + durationMs };
    operations.set(projectId, [...ofProject(projectId), operation]);
    return operation;
  };
  const rowOf = ({ id, projectId, createdMs, endsMs }: ModelOperation): Operation => {
    const hasEnded = nowMs() >= endsMs;
    return {
      id,
      project_id: projectId,
      action: 'start_compute',
      status: hasEnded ? 'finished' : 'running',
      failures_count: 0,
      created_at: isoTimeOf(createdMs),
      updated_at: isoTimeOf(hasEnded ? endsMs : createdMs),
    };
  };
  const restart = (projectId: string, endpointId: string): Response => {
    const status = isLocked(projectId) ? 423 : 200;
    received.push({ atMs: nowMs(), projectId, endpointId, status });
    if (status === 423)
      return Response.json({ code: 'LOCKED', message: 'the project is locked' }, { status });
    return Response.json({ endpoint: { id: endpointId }, operations: [rowOf(start(projectId))] });
  };

  return {
    received,
    fetchFor: (owner) => (input) =>
      world.call(owner, () => {
        const { pathname } = new URL(input instanceof Request ? input.url : input);
        const [, projectId = '', endpointId = ''] =
          /projects\/([^/]+)\/endpoints\/([^/]+)\/restart$/.exec(pathname) ?? [];
        const response = restart(projectId, endpointId);
        if (world.strikes('upstream_network')) throw new TypeError('The connection was lost');
        return response;
      }),
    operationsOf: (projectId) => ofProject(projectId).map(rowOf),
    disturb: (projectId) => void (isLocked(projectId) || start(projectId)),
  };
}
