import { describe, expect, test } from 'vitest';
import {
  createHintFields,
  type HintFields,
  type ProjectRow,
} from '../../../../functions/poller/planner/hints/hint-fields.ts';
import {
  cautiousRecall,
  expectedRecall,
  noteHint,
  RECALL_MIN,
  UNTRIED,
} from '../../../../functions/poller/planner/hints/hint-recall.ts';
import type { FieldEvidence } from '../../../../shared/core/records/hint-evidence.ts';

const HINT_FIELDS = ['updated_at', 'compute_last_active_at', 'active_time', 'cpu_used_sec'] as const;

let tick = 0;
const row = (fields: Partial<ProjectRow> = {}): ProjectRow => ({ id: 'a', ...fields });
/** Returns a row whose field has moved. */
const moved = (name: (typeof HINT_FIELDS)[number], id = 'a'): ProjectRow => row({ id, [name]: ++tick });

/** Hint fields to which every listing and every reading comes after the one before, and takes no time. */
function hintFields() {
  const hints: HintFields = createHintFields();
  const now = () => {
    const ms = ++tick;
    return { beganAtMs: ms, endedAtMs: ms };
  };
  return {
    ...hints,
    takeListing: (rows: readonly ProjectRow[]) => hints.takeListing(rows, now()),
    takeTransition: (projectId: string) => hints.takeReading(projectId, true, now()),
    takeNothing: (projectId: string) => hints.takeReading(projectId, false, now()),
  };
}

type TimedFields = ReturnType<typeof hintFields>;

const evidenceOf = (hints: Pick<HintFields, 'evidence'>, name: string): FieldEvidence => {
  const found = hints.evidence().find((field) => field.name === name);
  if (found === undefined) throw new Error(`No field is called ${name}`);
  return found;
};

describe('a field of the project list', () => {
  test('of a project that was never met has not moved', () => {
    expect(hintFields().takeListing([moved('updated_at')])).toEqual([]);
  });

  test.each(HINT_FIELDS)('%s shows its project when it moves, and nothing when it does not', (name) => {
    const hints = hintFields();
    const first = moved(name);
    hints.takeListing([first, moved(name, 'b')]);

    expect(hints.takeListing([first, moved(name, 'b')])).toEqual(['b']);
    expect(hints.takeListing([moved(name)])).toEqual(['a']);
  });

  test('that is missing from a row has not moved', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);

    expect(hints.takeListing([row()])).toEqual([]);
  });

  test('has moved once: the next listing compares with the new value', () => {
    const hints = hintFields();
    hints.takeListing([row({ active_time: 1 })]);
    const second = row({ active_time: 2 });

    expect(hints.takeListing([second])).toEqual(['a']);
    expect(hints.takeListing([second])).toEqual([]);
  });

  test('of a project that was forgotten begins anew', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.forget('a');

    expect(hints.takeListing([moved('updated_at')])).toEqual([]);
  });
});

describe('a field that grows while a compute is used', () => {
  /** Uses of ten minutes, each with six transitions, and a listing in every `listingS` seconds of use. */
  const uses = (hints: TimedFields, count: number, listingS: number) => {
    let shownCount = 0;
    for (let use = 0; use < count; use++) {
      for (let atS = 0; atS < 600; atS += listingS) {
        shownCount += hints.takeListing([moved('cpu_used_sec')]).length;
        if (atS < 6 * listingS) hints.takeTransition('a');
      }
    }
    return shownCount;
  };

  test('is believed where a listing a minute moves it seldom more often than transitions happen', () => {
    const hints = hintFields();
    hints.takeListing([moved('cpu_used_sec')]);
    uses(hints, 50, 60);

    expect(uses(hints, 1, 60)).toBe(10);
    expect(hints.recall()).toBeGreaterThan(0.9);
  });

  test('is not believed where each second shows it growing', () => {
    const hints = hintFields();
    hints.takeListing([moved('cpu_used_sec')]);
    uses(hints, 5, 1);

    expect(uses(hints, 1, 1)).toBe(0);
    expect(hints.recall()).toBe(RECALL_MIN);
  });
});

describe('a field that moves without transitions', () => {
  /** Moves the field with every listing, and lets a transition cause every `hitEvery`th move. */
  const moveOften = (hints: TimedFields, count: number, hitEvery = Infinity) => {
    for (let place = 1; place <= count; place++) {
      hints.takeListing([moved('updated_at')]);
      if (place % hitEvery === 0) hints.takeTransition('a');
    }
  };

  test('is believed for a hundred moves, and no more', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    moveOften(hints, 99);
    expect(hints.takeListing([moved('updated_at')])).toEqual(['a']);

    expect(hints.takeListing([moved('updated_at')])).toEqual([]);
  });

  test('does not take the other fields with it', () => {
    const hints = hintFields();
    hints.takeListing([row({ updated_at: 0, active_time: 0 })]);
    moveOften(hints, 150);
    hints.takeListing([row({ updated_at: 1, active_time: 1 })]);

    expect(hints.takeListing([row({ updated_at: 1, active_time: 2 })])).toEqual(['a']);
  });

  test('is believed on while every tenth move is right', () => {
    const hints = hintFields();
    moveOften(hints, 1_000, 10);

    expect(hints.takeListing([moved('updated_at')])).toEqual(['a']);
  });

  test('is not believed when only every eleventh move is right', () => {
    const hints = hintFields();
    moveOften(hints, 2_000, 11);

    expect(hints.takeListing([moved('updated_at')])).toEqual([]);
  });

  test('counts for nothing in the recall of the list', () => {
    const hints = hintFields();
    moveOften(hints, 40, 1);
    expect(hints.recall()).toBeGreaterThan(0.5);
    moveOften(hints, 2_000);

    expect(hints.recall()).toBe(RECALL_MIN);
  });
});

describe('what is learned of a field', () => {
  test('is a hit when a transition was found after it had moved', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeListing([moved('updated_at')]);
    hints.takeTransition('a');

    expect(evidenceOf(hints, 'updated_at')).toEqual({
      name: 'updated_at',
      recall: { foundCount: 1, missedCount: 0 },
      hitCount: 1,
      moveCount: 1,
    });
    expect(evidenceOf(hints, 'active_time')).toMatchObject({
      recall: { foundCount: 0, missedCount: 1 },
      hitCount: 0,
      moveCount: 0,
    });
  });

  test('is a hit when it moves in the listing after the transition', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeTransition('a');
    hints.takeListing([moved('updated_at')]);

    expect(evidenceOf(hints, 'updated_at')).toMatchObject({
      recall: { foundCount: 1, missedCount: 0 },
      hitCount: 1,
      moveCount: 1,
    });
    expect(evidenceOf(hints, 'active_time').recall).toEqual({ foundCount: 0, missedCount: 1 });
  });

  test('is a hit after a listing in which nothing moved, too', () => {
    const hints = hintFields();
    const same = moved('updated_at');
    hints.takeListing([same]);
    hints.takeListing([same]);
    hints.takeTransition('a');
    hints.takeListing([moved('updated_at')]);

    expect(evidenceOf(hints, 'updated_at')).toMatchObject({
      recall: { foundCount: 1, missedCount: 0 },
      hitCount: 1,
    });
  });

  test('is a hit of each field that has moved, also when all have', () => {
    const hints = hintFields();
    const all = (value: number) =>
      row({ updated_at: value, compute_last_active_at: value, active_time: value, cpu_used_sec: value });
    hints.takeListing([all(1)]);
    hints.takeListing([all(2)]);
    hints.takeTransition('a');

    expect(hints.evidence().map(({ hitCount }) => hitCount)).toEqual([1, 1, 1, 1]);
  });

  test('is a miss when it does not move there either', () => {
    const hints = hintFields();
    const same = moved('updated_at');
    hints.takeListing([same]);
    hints.takeTransition('a');
    hints.takeListing([same]);

    expect(evidenceOf(hints, 'updated_at')).toMatchObject({
      recall: { foundCount: 0, missedCount: 1 },
      hitCount: 0,
      moveCount: 0,
    });
  });

  test('counts a move for one transition only', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeListing([moved('updated_at')]);
    hints.takeTransition('a');
    hints.takeTransition('a');
    expect(evidenceOf(hints, 'updated_at').hitCount).toBe(1);
    hints.takeListing([moved('updated_at')]);

    // The second transition had no move before it, so the next listing was its proof.
    expect(evidenceOf(hints, 'updated_at')).toMatchObject({ hitCount: 2, moveCount: 2 });
    hints.takeListing([moved('updated_at')]);
    expect(evidenceOf(hints, 'updated_at')).toMatchObject({ hitCount: 2, moveCount: 3 });
  });

  test('is no hit when a poll between the move and the transition has found nothing', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeListing([moved('updated_at')]);
    hints.takeNothing('a');
    hints.takeTransition('a');

    expect(evidenceOf(hints, 'updated_at').hitCount).toBe(0);
  });

  test('is a hit of each field that has moved since the last poll, although not in the same listing', () => {
    const hints = hintFields();
    const both = (updatedAt: number, activeTime: number) =>
      row({ updated_at: updatedAt, active_time: activeTime });
    for (const listed of [both(1, 1), both(2, 1), both(2, 2)]) hints.takeListing([listed]);
    hints.takeTransition('a');

    expect(evidenceOf(hints, 'updated_at').hitCount).toBe(1);
    expect(evidenceOf(hints, 'active_time').hitCount).toBe(1);
  });

  test('is nothing when a project moves in which nothing was found', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeListing([moved('updated_at')]);

    expect(evidenceOf(hints, 'updated_at')).toMatchObject({ recall: UNTRIED, hitCount: 0, moveCount: 1 });
  });

  test('is nothing from a project that no listing has shown', () => {
    const hints = hintFields();
    hints.takeTransition('unknown');

    expect(hints.evidence().every(({ recall }) => recall.missedCount === 0)).toBe(true);
  });

  test('goes on after a restart, without the fields that are not read any more', () => {
    const before = hintFields();
    for (let place = 0; place < 5; place++) {
      before.takeListing([moved('updated_at')]);
      before.takeTransition('a');
    }
    const after = hintFields();
    after.restore([
      ...before.evidence().filter(({ name }) => name === 'updated_at'),
      { ...evidenceOf(before, 'updated_at'), name: 'mood' },
    ]);

    expect(evidenceOf(after, 'updated_at')).toEqual(evidenceOf(before, 'updated_at'));
    expect(evidenceOf(after, 'active_time').recall).toEqual(UNTRIED);
    expect(after.evidence().map(({ name }) => name)).toEqual([...HINT_FIELDS]);
    expect(after.recall()).toBe(before.recall());
  });

  test('is handed out as a copy', () => {
    const hints = hintFields();
    const [first] = hints.evidence();
    Object.assign(first ?? {}, { hitCount: 99 });

    expect(hints.evidence()[0]?.hitCount).toBe(0);
  });
});

/** A listing and a poll take a second each here, and may be under way at the same time. */
describe('a listing and a poll that overlap', () => {
  const at = (beganAtS: number) => ({ beganAtMs: beganAtS * 1_000, endedAtMs: (beganAtS + 1) * 1_000 });
  const updated = (value: number) => [row({ updated_at: value })];

  test('prove no miss when the listing may have looked before the transition: the next one does', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeReading('a', true, at(10));
    hints.takeListing(updated(1), at(10.5));
    expect(evidenceOf(hints, 'updated_at').recall).toEqual(UNTRIED);
    hints.takeListing(updated(2), at(12));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 0 });
  });

  test('leave the proof to the next listing for each field, also when a row shows all of them', () => {
    const hints = createHintFields();
    const all = [row({ updated_at: 1, compute_last_active_at: 1, active_time: 1, cpu_used_sec: 1 })];
    hints.takeListing(all, at(0));
    hints.takeReading('a', true, at(10));
    hints.takeListing(all, at(10.5));
    hints.takeListing(all, at(12));

    expect(hints.evidence().map(({ recall }) => recall.missedCount)).toEqual([1, 1, 1, 1]);
  });

  test('prove a miss when the listing begins after the poll has ended, and shows nothing', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeReading('a', true, at(10));
    hints.takeListing(updated(1), at(11));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 0, missedCount: 1 });
  });

  test('leave the move to the next poll when the poll that found nothing had begun before it was shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', false, at(10.5));
    hints.takeReading('a', true, at(12));

    expect(evidenceOf(hints, 'updated_at')).toMatchObject({ hitCount: 1, recall: { missedCount: 0 } });
  });

  test('count a move for a poll although later listings that show none lie between', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeListing(updated(2), at(11));
    hints.takeReading('a', true, at(11.5));
    hints.takeListing(updated(2), at(13));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 0 });
  });

  test('count a move once, for the transition of a poll that had begun before the move was shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', true, at(10.5));
    hints.takeReading('a', true, at(12));

    expect(evidenceOf(hints, 'updated_at').hitCount).toBe(1);
  });

  test('prove no miss of the next transition, which may be the one that the listing showed during the poll', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', true, at(10.5));
    hints.takeReading('a', true, at(12));
    hints.takeListing(updated(2), at(14));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 0 });
    hints.takeReading('a', true, at(16));
    hints.takeListing(updated(2), at(18));
    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 1 });
  });

  test('prove a miss of the transition after a poll that began as the move was shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', true, at(11));
    hints.takeReading('a', true, at(13));
    hints.takeListing(updated(2), at(15));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 1 });
  });

  test('name the end of the last poll that found what the list had shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeReading('a', true, at(2));
    expect(hints.shownAtMs()).toBe(Number.NEGATIVE_INFINITY);
    hints.takeListing(updated(2), at(4));
    hints.takeReading('a', true, at(6));
    hints.takeListing(updated(3), at(8));
    hints.takeReading('a', false, at(10));

    expect(hints.shownAtMs()).toBe(7_000);
  });

  test('are false when the next poll finds nothing either, after one that had begun before the move was shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', false, at(10.5));
    hints.takeReading('a', false, at(14));

    expect(hints.precision()).toBeLessThan(0.5);
  });

  test('prove a miss again once a poll has found nothing, after one that may have found what they had shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', true, at(10.5));
    hints.takeReading('a', false, at(14));
    hints.takeReading('a', true, at(16));
    hints.takeListing(updated(2), at(18));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 1 });
  });

  test('say nothing of how true hints are when the poll had begun before the move was shown', () => {
    const hints = createHintFields();
    hints.takeListing(updated(1), at(0));
    hints.takeListing(updated(2), at(10));
    hints.takeReading('a', false, at(10.5));

    expect(hints.precision()).toBe(0.5);
  });

  test('show a false hint when the poll begins as the move is shown, or while a later listing shows no move', () => {
    for (const pollAtS of [11, 12.5]) {
      const hints = createHintFields();
      hints.takeListing(updated(1), at(0));
      hints.takeListing(updated(2), at(10));
      if (pollAtS > 12) hints.takeListing(updated(2), at(12));
      hints.takeReading('a', false, at(pollAtS));

      expect(hints.precision()).toBeCloseTo(1 / 3);
    }
  });

  test('leave each field its own proof: one that moved earlier says nothing of one that moves later', () => {
    const hints = createHintFields();
    const both = (updatedAt: number, cpuUsed: number) => [
      row({ updated_at: updatedAt, cpu_used_sec: cpuUsed }),
    ];
    hints.takeListing(both(1, 1), at(0));
    hints.takeListing(both(1, 2), at(2));
    hints.takeReading('a', true, at(4));
    hints.takeListing(both(2, 3), at(6));

    expect(evidenceOf(hints, 'updated_at').recall).toEqual({ foundCount: 1, missedCount: 0 });
    expect(evidenceOf(hints, 'cpu_used_sec').recall).toEqual({ foundCount: 1, missedCount: 0 });
  });
});

describe('the share of hints that are true', () => {
  test('rises with each reading that finds a transition after a move, and falls with each that finds none', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    expect(hints.precision()).toBe(0.5);
    for (let count = 0; count < 20; count++) {
      hints.takeListing([moved('updated_at')]);
      hints.takeTransition('a');
    }
    const before = hints.precision();
    expect(before).toBeGreaterThan(0.9);
    hints.takeListing([moved('updated_at')]);
    hints.takeNothing('a');

    expect(hints.precision()).toBeLessThan(before);
  });

  test('does not change with readings for which no field had asked', () => {
    const hints = hintFields();
    hints.takeListing([moved('updated_at')]);
    hints.takeNothing('a');
    expect(hints.precision()).toBe(0.5);
    hints.takeTransition('a');

    expect(hints.precision()).toBe(0.5);
  });
});

const recallOf = (hits: number, misses: number) => {
  let recall = UNTRIED;
  for (let place = 0; place < Math.max(hits, misses); place++) {
    if (place < hits) recall = noteHint(recall, true);
    if (place < misses) recall = noteHint(recall, false);
  }
  return recall;
};

describe('the share of transitions that a field is expected to show', () => {
  test('is nearly all once a hundred transitions were shown and none was missed', () => {
    expect(1 - expectedRecall(recallOf(100, 0))).toBeLessThan(0.000_3);
    expect(expectedRecall(recallOf(400, 0))).toBeLessThanOrEqual(0.999_99);
  });

  test('is the low estimate again after one miss', () => {
    const missed = noteHint(recallOf(100, 0), false);

    expect(expectedRecall(missed)).toBeCloseTo(cautiousRecall(missed), 5);
  });

  test('is nearly all again once the miss has faded behind several thousand transitions', () => {
    let recall = noteHint(recallOf(400, 0), false);
    for (let count = 0; count < 2_000; count++) recall = noteHint(recall, true);

    expect(1 - expectedRecall(recall)).toBeLessThan(0.000_3);
  });

  test('is never less than the low estimate, and rises with each transition that is shown', () => {
    for (let hits = 0; hits < 200; hits++) {
      const recall = recallOf(hits, 0);
      expect(expectedRecall(recall)).toBeGreaterThanOrEqual(cautiousRecall(recall));
      expect(expectedRecall(noteHint(recall, true))).toBeGreaterThan(expectedRecall(recall));
    }
  });
});

describe('the low estimate of the share of transitions that a field shows', () => {
  test('is estimated low, and less low the more is known', () => {
    expect(cautiousRecall(recallOf(9, 1))).toBeLessThan(0.9);
    expect(cautiousRecall(recallOf(90, 10))).toBeGreaterThan(cautiousRecall(recallOf(9, 1)));
    // The mean is 10/12, and the deviation is sqrt(10/12 · 2/12 / 13).
    expect(cautiousRecall(recallOf(9, 1))).toBeCloseTo(0.833_33 - 0.103_36, 4);
  });

  test('is never more than 0.99, and never less than what may be true of a field that only misses', () => {
    expect(cautiousRecall(recallOf(400, 0))).toBe(0.99);
    expect(cautiousRecall(recallOf(0, 400))).toBe(RECALL_MIN);
    expect(RECALL_MIN).toBe(1 / 402);
  });

  test('fades after four hundred observations, so that a changed service is believed again', () => {
    const full = recallOf(0, 400);
    expect(full).toEqual({ foundCount: 0, missedCount: 400 });
    const next = noteHint(full, true);

    expect(next.foundCount).toBe(1);
    expect(next.missedCount).toBe(399);
    expect(noteHint(recallOf(400, 0), false)).toEqual({ foundCount: 399, missedCount: 1 });
    let recall = full;
    for (let count = 0; count < 1_200; count++) recall = noteHint(recall, true);
    expect(cautiousRecall(recall)).toBeGreaterThan(0.9);
  });

  test('of the best field is that of the list', () => {
    const hints = hintFields();
    expect(hints.recall()).toBeCloseTo(expectedRecall(UNTRIED));
    const tried = (name: string, hits: number, misses: number): FieldEvidence => ({
      name,
      recall: recallOf(hits, misses),
      hitCount: hits,
      moveCount: hits,
    });
    hints.restore([
      tried('updated_at', 5, 5),
      tried('active_time', 9, 1),
      tried('compute_last_active_at', 0, 10),
    ]);

    expect(hints.recall()).toBeCloseTo(expectedRecall(recallOf(9, 1)));
    expect(hints.provenRecall()).toBeCloseTo(cautiousRecall(recallOf(9, 1)));
  });
});
