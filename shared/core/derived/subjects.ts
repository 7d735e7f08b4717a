/** Groups operations with news by the branches and computes that have to be looked at for them. */

import type { OperationRecord } from '../records/operation-record.ts';
import { concernsBranch, concernsCompute } from './derivations.ts';

/** One branch or one compute. Its record is decided anew from these operations. */
export interface Subject {
  readonly kind: 'branch' | 'compute';
  readonly account_id: string;
  readonly project_id: string;
  /** The id of the branch or of the compute. */
  readonly id: string;
  /** These operations have entries that are not acknowledged. */
  readonly operations: readonly OperationRecord[];
}

export function subjectsOf(operations: readonly OperationRecord[]): readonly Subject[] {
  const branches = operations.filter(concernsBranch);
  const computes = operations.filter(concernsCompute);
  return [
    ...groupBy('branch', branches, ({ branch_id }) => branch_id),
    ...groupBy('compute', computes, ({ endpoint_id }) => endpoint_id),
  ];
}

function groupBy(
  kind: Subject['kind'],
  operations: readonly OperationRecord[],
  idOf: (operation: OperationRecord) => string | undefined,
): readonly Subject[] {
  const groups = Map.groupBy(operations, (operation) =>
    JSON.stringify([operation.account_id, operation.project_id, idOf(operation)]),
  );
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    const id = first && idOf(first);
    if (first === undefined || id === undefined) return [];
    return { kind, account_id: first.account_id, project_id: first.project_id, id, operations: members };
  });
}
