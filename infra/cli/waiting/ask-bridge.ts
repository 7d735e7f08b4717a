/** The questions that a wait asks: one for each kind of thing that can be waited for. */

import * as z from 'zod';
import { type BridgeClient, BridgeRefusal } from '../connection/bridge-client.ts';
import {
  type Outcome,
  operationAnswer,
  outcomeOfBranch,
  outcomeOfOperation,
  outcomeOfQueued,
  outcomeOfSent,
  queuedCommandAnswer,
  sentCommandAnswer,
  trackedBranchAnswer,
} from './outcome.ts';

type Ask = (waitSeconds: number) => Promise<Outcome>;

export function askForOperation(client: BridgeClient, projectId: string, operationId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations/${encodeURIComponent(operationId)}`;
  return async (wait) => outcomeOfOperation(await client.read(get(path, { wait }), operationAnswer));
}

/** A command that was sent with "Prefer: respond-async". */
export function askForQueued(client: BridgeClient, commandId: string): Ask {
  const path = `/bridge/v1/commands/${encodeURIComponent(commandId)}`;
  return async (wait) => outcomeOfQueued(await client.read(get(path, { wait }), queuedCommandAnswer));
}

/** A command that was sent at once, and whose operations are waited for. */
export function askForSent(client: BridgeClient, projectId: string, requestId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/commands/${encodeURIComponent(requestId)}`;
  return async (wait) => outcomeOfSent(await client.read(get(path, { wait }), sentCommandAnswer));
}

/** A command of either kind. Only a queued one can be found without its project. */
export function askForCommand(client: BridgeClient, id: string, projectId: string | undefined): Ask {
  const queued = askForQueued(client, id);
  if (projectId === undefined) return queued;
  const sent = askForSent(client, projectId, id);
  return async (wait) => {
    try {
      return await queued(wait);
    } catch (error) {
      if (error instanceof BridgeRefusal && error.status === 404) return sent(wait);
      throw error;
    }
  };
}

const branchAnswer = z.looseObject({
  branch: z.looseObject({ id: z.string(), current_state: z.string().optional() }),
});

const openOperations = z.looseObject({ operations: z.array(z.looseObject({ action: z.string() })) });

/** The bridge knows a branch whose creation it has seen; the upstream is asked about an older one. */
export function askForBranch(client: BridgeClient, projectId: string, branchId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/branches/${encodeURIComponent(branchId)}`;
  const tracked: Ask = async (wait) =>
    outcomeOfBranch(await client.read(get(path, { wait }), trackedBranchAnswer));
  const olderThanTheBridge = askUpstreamForBranch(client, projectId, branchId);
  return async (wait) => {
    try {
      const outcome = await tracked(0);
      return outcome.kind === 'pending' ? await tracked(wait) : outcome;
    } catch (error) {
      if (error instanceof BridgeRefusal && error.status === 404) return olderThanTheBridge(wait);
      throw error;
    }
  };
}

/** Such a branch can be used when the upstream calls it ready and none of its operations is open. */
function askUpstreamForBranch(client: BridgeClient, projectId: string, branchId: string): Ask {
  const project = encodeURIComponent(projectId);
  const list = get(`/bridge/v1/projects/${project}/operations`, { branch_id: branchId, open: 'true' });
  return async () => {
    const path = `/api/v2/projects/${project}/branches/${encodeURIComponent(branchId)}`;
    const { branch } = await client.read(get(path, {}), branchAnswer);
    const { operations } = await client.read(list, openOperations);
    const state = branch.current_state ?? 'ready';
    if (state !== 'ready') return { kind: 'pending', state, seen: branch };
    if (operations.length === 0) return { kind: 'succeeded', state, seen: branch };
    return { kind: 'pending', state: operations.map(({ action }) => action).join(', '), seen: branch };
  };
}

function get(path: string, query: Readonly<Record<string, string | number>>) {
  return { method: 'GET', path, query };
}
