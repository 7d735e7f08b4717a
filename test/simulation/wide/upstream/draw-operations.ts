/** Draws the whole life of an operation at its creation; from then on the truth is only looked up. */

import { type Random, seededRandom } from '../../../../shared/runtime/random.ts';
import {
  ACTIONS,
  drawStates,
  TOGETHER_US,
  type TruthState,
  type UpstreamModelOptions,
} from '../../upstream-model.ts';
import { dice, MINUTE_MS, type WidePlan } from '../plan.ts';
import { createOperationPlaces } from './operation-places.ts';
import { isOver, type Span, type WideOperation } from './truth.ts';

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
  /** The operation is the start of a compute that was created together with this creation of a branch. */
  readonly creation?: WideOperation | undefined;
}

export interface OperationSource {
  /** Draws one operation that begins at the states time. */
  draw(birth: Birth): WideOperation;
  /** Draws operations that one request starts, each of them a microsecond after the one before. */
  drawTogether(count: number, birth: Birth): readonly WideOperation[];
  /** Draws operations that begin at random in a span, some of them in one microsecond. */
  drawMany(count: number, span: Span, birth: Omit<Birth, 'createdUs'>): readonly WideOperation[];
}

export function createOperationSource(plan: WidePlan, random: Random): OperationSource {
  const { chance } = dice(random);
  const { faults, visibleLateMsMax } = plan;
  const laterDice = dice(seededRandom(plan.seed ^ STUCK_SALT));
  const placeOf = createOperationPlaces();
  let count = 0;

  return {
    draw,
    drawTogether(many, { createdUs, ...birth }) {
      const drawn: WideOperation[] = [];
      for (let place = 0; place < many; place++) {
        const last = drawn.at(-1);
        const creation = last !== undefined && startsCompute(last) ? last : undefined;
        drawn.push(draw({ ...birth, createdUs: createdUs + place, creation }));
      }
      return drawn;
    },
    drawMany(many, { fromMs, toMs }, birth) {
      let createdUs = 0;
      let before: WideOperation | undefined;
      return Array.from({ length: many }, () => {
        before = drawNext(before);
        return before;
      });

      function drawNext(last: WideOperation | undefined): WideOperation {
        if (last !== undefined && startsCompute(last)) return draw({ ...birth, createdUs, creation: last });
        const isTied = createdUs > 0 && chance(faults.operation_row_tied);
        if (isTied) return draw({ ...birth, createdUs });
        createdUs = Math.floor((fromMs + random.next() * (toMs - fromMs)) * 1_000);
        return draw({ ...birth, createdUs });
      }
    },
  };

  function draw({ projectId, createdUs: drawnUs, endMs, isHistory, creation }: Birth): WideOperation {
    const index = count++;
    const createdUs = creation === undefined ? drawnUs : creation.createdUs + TOGETHER_US;
    const createdMs = createdUs / 1_000;
    const isOdd = (probability: number) => chance(isHistory ? 0 : probability);
    const isLate = isOdd(faults.operation_row_late);
    const isMalformed = isOdd(faults.operation_row_malformed);
    const vanishes = isOdd(faults.operation_vanished);
    const hiddenMs = random.next() * visibleLateMsMax;
    const chances = chancesOf(plan, isHistory);
    const drawnAction = ACTIONS[Math.floor(random.next() * ACTIONS.length)] ?? '';
    const drawn = drawStates({ startMs: createdMs, endMs, chance: chances }, random, createdMs);
    const states = isHistory ? drawn : stuck(drawn, endMs);
    return {
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      project_id: projectId,
      ...placeOf({ index, projectId, creation, drawnAction, createdMs, endMs: endOf(states) }),
      createdUs,
      visibleAtMs: createdMs + (isLate ? hiddenMs : 0),
      malformedUntilMs: isMalformed ? createdMs + hiddenMs : 0,
      vanishesAtMs: vanishes ? createdMs + random.next() * 60_000 : Number.POSITIVE_INFINITY,
      states,
    };
  }

  /** Draws from dice of its own, as the plan does for faults that were added later. */
  function stuck(states: readonly TruthState[], endMs: number): readonly TruthState[] {
    if (faults.operation_stuck === 0 || !laterDice.chance(faults.operation_stuck)) return states;
    const place = laterDice.whole(1, states.length);
    const isForGood = laterDice.chance(STUCK_FOR_GOOD_SHARE);
    const stuckMs = laterDice.whole(1, STUCK_MINUTES_MAX) * MINUTE_MS;
    const later = ({ atMs, updatedAtMs, ...state }: TruthState): TruthState => ({
      ...state,
      atMs: atMs + stuckMs,
      updatedAtMs: updatedAtMs + stuckMs,
    });
    const rest = states.slice(place).map(later);
    const isTooLate = (rest.at(-1)?.atMs ?? 0) > endMs;
    return [...states.slice(0, place), ...(isForGood || isTooLate ? [] : rest)];
  }
}

const STUCK_SALT = 0x57c4;

/** These operations never go on, nor do those for which the run has no time. The others go on after at most this time. */
const STUCK_FOR_GOOD_SHARE = 0.3;
const STUCK_MINUTES_MAX = 40;

/** Two of three creations of a branch start its compute with them. */
function startsCompute({ id, action }: WideOperation): boolean {
  return action === 'create_branch' && Number(id.slice(-12)) % 3 !== 0;
}

/** An operation that stays open keeps its compute for ever. */
function endOf(states: readonly TruthState[]): number {
  const last = states.at(-1);
  return last !== undefined && isOver(last) ? last.atMs : Number.POSITIVE_INFINITY;
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
    isLagging: faults.list_replica_lags + faults.read_replica_lags > 0,
  };
}
