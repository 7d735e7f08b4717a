/**
 * A client that assumes that a call is done when it is answered, as many provisioning tools do: it creates a branch, a
 * compute and a database, changes the compute, and deletes the branch, one call after the other.
 */

export interface NaiveAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a client reads what it needs from an answer
  readonly body: any;
}

export type NaiveSend = (method: string, path: string, body?: object) => Promise<NaiveAnswer>;

export interface NaiveTally {
  callCount: number;
  /** Counts the answers that are no success, by their status. */
  readonly refusedByStatus: Map<number, number>;
  /** Counts the calls that could not be made, because an earlier call of the same round was refused. */
  skippedCount: number;
}

export function refusedCount({ refusedByStatus }: NaiveTally): number {
  return [...refusedByStatus.values()].reduce((sum, count) => sum + count, 0);
}

/** A refused call is not repeated. What does not depend on it is still tried. */
export async function runNaiveClient(
  { send, pause }: { readonly send: NaiveSend; readonly pause: () => Promise<void> },
  projectId: string,
  rounds: number,
): Promise<NaiveTally> {
  const tally: NaiveTally = { callCount: 0, refusedByStatus: new Map(), skippedCount: 0 };
  const call: NaiveSend = async (...request) => {
    const answer = await send(...request);
    tally.callCount += 1;
    const { status } = answer;
    if (status >= 300) tally.refusedByStatus.set(status, (tally.refusedByStatus.get(status) ?? 0) + 1);
    return answer;
  };
  const owner_name = (await ownerOf(send, projectId)) ?? '';
  for (let round = 0; round < rounds; round++) {
    await runRound(call, tally, { projectId, owner_name, round });
    await pause();
  }
  return tally;
}

async function ownerOf(send: NaiveSend, projectId: string): Promise<string | undefined> {
  const { body } = await send('GET', `/projects/${projectId}/branches`);
  const branchId = body.branches[0].id as string;
  return (await send('GET', `/projects/${projectId}/branches/${branchId}/roles`)).body.roles[0].name;
}

interface Round {
  readonly projectId: string;
  readonly owner_name: string;
  readonly round: number;
}

async function runRound(call: NaiveSend, tally: NaiveTally, round: Round): Promise<void> {
  const { projectId, owner_name, round: number } = round;
  const project = `/projects/${projectId}`;
  const branch = await call('POST', `${project}/branches`, { branch: { name: `preview-${number}` } });
  const branchId = branch.body?.branch?.id as string | undefined;
  if (branchId === undefined) {
    tally.skippedCount += 4;
    return;
  }
  const endpoint = { branch_id: branchId, type: 'read_write' };
  const compute = await call('POST', `${project}/endpoints`, { endpoint });
  await call('POST', `${project}/branches/${branchId}/databases`, {
    database: { name: 'orders', owner_name },
  });
  const endpointId = compute.body?.endpoint?.id as string | undefined;
  if (endpointId === undefined) tally.skippedCount += 1;
  else
    await call('PATCH', `${project}/endpoints/${endpointId}`, {
      endpoint: { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 1 },
    });
  await call('DELETE', `${project}/branches/${branchId}`);
}
