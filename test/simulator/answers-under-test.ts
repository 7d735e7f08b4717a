/** Opens a project of a world in which only the test makes things happen, and reads back what its calls have done. */

import { expect } from 'vitest';
import type { WorldOptions } from '../../infra/simulator/world/world.ts';
import { type Answer, aWorld, startUpstreamUnderTest } from './upstream-under-test.ts';

/** Every operation ends within this time when none fails, and no compute suspends by itself in it. */
export const SETTLING_MS = 60_000;

export async function openProject(options: Partial<WorldOptions> = {}) {
  const upstream = startUpstreamUnderTest(
    aWorld({ projectCount: 1, historyMs: 1_000, sessionsPerHour: 0.000_01, trouble: 0, ...options }),
  );
  const [project] = upstream.world.projects();
  if (project === undefined) throw new Error('The world has no project');
  const base = `/projects/${project.id}`;
  const opened = {
    upstream,
    projectId: project.id,
    base,
    branchId: project.defaultBranchId,
    endpointId: project.computes[0]?.endpoint_id ?? '',
    get: upstream.get,
    send: upstream.send,
    settle: () => upstream.passMs(SETTLING_MS),
    /** Sends a command that must succeed, and lets its operations end. */
    succeed: async (method: string, path: string, body?: object): Promise<Answer['body']> => {
      const answer = await upstream.send(method, path, body);
      expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
      upstream.passMs(SETTLING_MS);
      return answer.body;
    },
    /** Returns the actions and statuses of the operations in an answer, the first to run first. */
    statusesOf: async (operations: readonly { id: string }[]): Promise<string[]> => {
      const rows = await Promise.all(operations.map(({ id }) => upstream.get(`${base}/operations/${id}`)));
      return rows.map(({ body }) => `${body.operation.action} ${body.operation.status}`);
    },
  };
  return opened;
}

export function actionsOf({ operations }: Answer['body']): readonly string[] {
  return operations.map(({ action, status }: { action: string; status: string }) => `${action} ${status}`);
}
