/** Has the poller of the bridge repair a project, and follows the repair to its end. */

import * as z from 'zod';
import { type BridgeClient, BridgeRefusal } from '../connection/bridge-client.ts';
import { type FollowDeps, followWork } from '../connection/follow-work.ts';

const repair = z.looseObject({ state: z.enum(['in_progress', 'ended']) });

type RepairStanding = z.output<typeof repair>;

export interface RepairDeps extends FollowDeps {
  readonly client: BridgeClient;
}

/**
 * Resolves when all operations since that time (ISO 8601) were read again. A repair that is in progress already is
 * awaited first, and an outage of the bridge is waited for. Rejects with `repair_stands_still` when the repair has not
 * ended after ten minutes.
 */
export async function repairThroughBridge(deps: RepairDeps, projectId: string, since: string): Promise<void> {
  const { client } = deps;
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/repair`;
  const read = () => client.read({ method: 'GET', path }, repair);
  for (;;) {
    try {
      await client.read({ method: 'POST', path, body: JSON.stringify({ since }) }, repair);
      await untilEnded(deps, projectId, read);
      return;
    } catch (error) {
      if (!(error instanceof BridgeRefusal) || error.status !== 409) throw error;
      deps.note(`Another repair of ${projectId} is in progress, and is awaited first.`);
      await untilEnded(deps, projectId, read);
    }
  }
}

function untilEnded(
  deps: RepairDeps,
  projectId: string,
  read: () => Promise<RepairStanding>,
): Promise<unknown> {
  return followWork(deps, {
    noun: 'repair',
    name: `The repair of ${projectId}`,
    read,
    progressOf: () => `The poller reads the operations of ${projectId} again.`,
  });
}
