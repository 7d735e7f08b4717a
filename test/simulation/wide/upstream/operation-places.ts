/**
 * Says on which branch and on which compute each operation runs. The operations of one compute run one after another, as
 * upstream, so operations that overlap run on different computes of their project.
 */

interface Place {
  readonly action: string;
  readonly branch_id: string;
  readonly endpoint_id: string | undefined;
}

interface Placed {
  /** Counts the operations of the run. */
  readonly index: number;
  readonly projectId: string;
  /** The operation is the start of a compute that was created together with this creation of a branch. */
  readonly creation: { readonly branch_id?: string | undefined } | undefined;
  readonly drawnAction: string;
  readonly createdMs: number;
  readonly endMs: number;
}

/** Rows show whole seconds, so the next operation of a compute begins in another second. */
const APART_MS = 1_000;

type Life = readonly [fromMs: number, toMs: number];

/** Every creation of a branch has a branch of its own, and a start that belongs to it has a compute of its own. */
export function createOperationPlaces(): (placed: Placed) => Place {
  const computesOf = new Map<string, Life[][]>();

  return ({ index, projectId, creation, drawnAction, createdMs, endMs }) => {
    if (creation?.branch_id !== undefined)
      return {
        action: 'start_compute',
        branch_id: creation.branch_id,
        endpoint_id: `ep-of-${creation.branch_id}`,
      };
    if (drawnAction === 'create_branch')
      return { action: drawnAction, branch_id: `br-${index}`, endpoint_id: undefined };
    const place = freeCompute(projectId, [createdMs, endMs]);
    return { action: drawnAction, branch_id: `br-${projectId}`, endpoint_id: `ep-${projectId}-${place}` };
  };

  /** Returns the number of the first compute of the project that runs nothing at that time. */
  function freeCompute(projectId: string, life: Life): number {
    const computes = computesOf.get(projectId) ?? [];
    computesOf.set(projectId, computes);
    const found = computes.findIndex((lives) => lives.every((other) => areApart(other, life)));
    if (found === -1) return computes.push([life]) - 1;
    computes[found]?.push(life);
    return found;
  }
}

function areApart(a: Life, b: Life): boolean {
  return a[1] + APART_MS <= b[0] || b[1] + APART_MS <= a[0];
}
