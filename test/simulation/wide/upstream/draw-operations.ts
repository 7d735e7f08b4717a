/** Draws the whole life of an operation at its creation; from then on the truth is only looked up. */

import type { Random } from '../../../../shared/runtime/random.ts';
import { ACTIONS, drawStates, type UpstreamModelOptions } from '../../upstream-model.ts';
import { dice, type WidePlan } from '../plan.ts';
import type { Span, WideOperation } from './truth.ts';

interface Birth {
  readonly projectId: string;
  readonly createdUs: number;
  /** No state begins after this time. */
  readonly endMs: number;
  /**
   * Says whether the operation is from before the bridge. Such an operation has mostly ended, and nothing odd happens
   * to it.
   */
  readonly isHistory: boolean;
  /**
   * Says whether the operation is older than a sweep reads. What one reading of it does not show, such as the second
   * of a tie, is never seen.
   */
  readonly isBelowSweeps?: boolean;
}

export interface OperationSource {
  /** Draws one operation that begins at the given time. */
  draw(birth: Birth): WideOperation;
  /** Draws operations that begin at random in a span, some of them in one microsecond. */
  drawMany(count: number, span: Span, birth: Omit<Birth, 'createdUs'>): readonly WideOperation[];
}

export function createOperationSource(plan: WidePlan, random: Random): OperationSource {
  const { chance } = dice(random);
  const { faults, visibleLateMsMax } = plan;
  let count = 0;

  return {
    draw,
    drawMany(many, { fromMs, toMs }, birth) {
      let createdUs = 0;
      return Array.from({ length: many }, () => {
        const isTied = createdUs > 0 && chance(faults.operation_row_tied);
        if (isTied && birth.isBelowSweeps !== true) return draw({ ...birth, createdUs });
        createdUs = Math.floor((fromMs + random.next() * (toMs - fromMs)) * 1_000);
        return draw({ ...birth, createdUs });
      });
    },
  };

  function draw({ projectId, createdUs, endMs, isHistory }: Birth): WideOperation {
    const createdMs = createdUs / 1_000;
    const isOdd = (probability: number) => chance(isHistory ? 0 : probability);
    const isLate = isOdd(faults.operation_row_late);
    const isMalformed = isOdd(faults.operation_row_malformed);
    const vanishes = isOdd(faults.operation_vanished);
    const hiddenMs = random.next() * visibleLateMsMax;
    const chances = chancesOf(plan, isHistory);
    return {
      id: `00000000-0000-4000-8000-${String(count++).padStart(12, '0')}`,
      project_id: projectId,
      action: ACTIONS[Math.floor(random.next() * ACTIONS.length)] ?? '',
      createdUs,
      visibleAtMs: createdMs + (isLate ? hiddenMs : 0),
      malformedUntilMs: isMalformed ? createdMs + hiddenMs : 0,
      vanishesAtMs: vanishes ? createdMs + random.next() * 60_000 : Number.POSITIVE_INFINITY,
      states: drawStates({ startMs: createdMs, endMs, chance: chances }, random, createdMs),
    };
  }
}

function chancesOf({ faults }: WidePlan, isHistory: boolean): UpstreamModelOptions['chance'] {
  return {
    tie: 0,
    lateVisible: 0,
    vanishes: 0,
    burst: 0,
    fails: 0.2,
    reopens: isHistory ? 0 : faults.operation_reopened,
    brokenUpdatedAt: faults.operation_updated_at_wrong,
    unknownStatus: 0.05,
  };
}
