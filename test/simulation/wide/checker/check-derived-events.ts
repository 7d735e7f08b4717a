/** Checks Branch Ready, Branch Failed and Compute State Changed against the upstream's own operations. */

import { checkBranchClaims, checkDerived, type OwedOperation } from '../../check-derived.ts';
import type { Violation } from '../../check-history.ts';
import { expectationsOf } from './check-operations.ts';
import type { Evidence } from './evidence.ts';

export function checkDerivedEvents(evidence: Evidence): readonly Violation[] {
  const { stage, told } = evidence;
  const owed = owedBy(evidence);
  // A restored table begins its counts anew, and it may have lost the creation of a branch whose end it sees.
  return stage.restores.length > 0 ? checkBranchClaims(owed, told) : checkDerived(owed, told);
}

function owedBy(evidence: Evidence): readonly OwedOperation[] {
  const { truth } = evidence.stage.upstream;
  // What derives from an operation is not recorded while a record on which it rests cannot be read.
  const isReadable = evidence.stage.unreadable.size === 0;
  return expectationsOf(evidence).flatMap(({ operation_id, expects, isHistory, isOlder }) => {
    const operation = truth.operationOf(operation_id);
    if (operation === undefined) return [];
    const { createdUs, visibleAtMs, vanishesAtMs, malformedUntilMs } = operation;
    // Rows in no order do not show together what was started together.
    const isHidden = visibleAtMs > createdUs / 1_000 || malformedUntilMs > 0 || Number.isFinite(vanishesAtMs);
    // What is older than the bridge's sight of its project and becomes visible after its end is history at its first sight.
    const isOld = isHistory || (isHidden && isOlder);
    return [{ operation, expects: isReadable ? expects : 'whatever_was_seen', isHistory: isOld, isHidden }];
  });
}
