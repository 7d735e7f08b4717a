import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AssumedHazard,
  createAgedHazard,
} from '../../../../functions/poller/planner/activity/aged-hazard.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';

/** Nothing is assumed to end before 10 ms, and everything with a mean of 100 ms beyond. */
const setUp = () =>
  createAgedHazard({
    edgesMs: [0, 10, 20, 40, 80, 160, 320, 640],
    perMs: (ageMs) => (ageMs < 10 ? 0 : 0.01),
    priorMs: 100,
  });

const exponential = (meanMs: number, unit: number) => -meanMs * Math.log(1 - unit);

describe('what is expected at an age', () => {
  test('is the assumption before anything was seen', () => {
    const hazard = setUp();

    expect([0, 9.9, 10, 50, 10_000].map((ageMs) => hazard.perMs(ageMs))).toEqual([0, 0, 0.01, 0.01, 0.01]);
  });

  test.each([1_000, 300, 30])('becomes that of lives of %d ms on average', (meanMs) => {
    const hazard = setUp();
    const random = seededRandom(1);
    for (let life = 0; life < 4_000; life++) hazard.note(0, exponential(meanMs, random.next()), true);

    expect(hazard.perMs(15) * meanMs).toBeGreaterThan(0.8);
    expect(hazard.perMs(15) * meanMs).toBeLessThan(1.25);
  });

  test('is learned apart for each span of ages', () => {
    const hazard = setUp();
    for (let life = 0; life < 200; life++) hazard.note(0, 50, true);

    expect(hazard.perMs(30)).toBeLessThan(0.001);
    expect(hazard.perMs(50)).toBeGreaterThan(0.05);
    expect(hazard.perMs(5)).toBe(0);
  });

  test('is learned where no end was assumed, too', () => {
    const hazard = setUp();
    for (let life = 0; life < 50; life++) hazard.note(0, 8, true);

    expect(hazard.perMs(5)).toBeCloseTo(50 / (50 * 8 + 100));
    expect(hazard.perMs(50)).toBe(0.01);
  });

  test('falls while something is watched that does not end', () => {
    const hazard = setUp();
    const seen = [];
    for (let fromMs = 0; fromMs < 100_000; fromMs += 10_000) {
      hazard.note(fromMs, fromMs + 10_000, false);
      seen.push(hazard.perMs(5_000));
    }

    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    expect(seen.at(-1)).toBeLessThan(1e-6);
  });

  test('hardly changes by a single outlier', () => {
    const hazard = setUp();
    for (let life = 0; life < 100; life++) hazard.note(0, 60, true);
    const before = hazard.perMs(60);
    hazard.note(0, 1e9, true);

    expect(hazard.perMs(60)).toBeGreaterThan(0.9 * before);
  });

  test('follows an account that has changed', () => {
    const hazard = setUp();
    const random = seededRandom(2);
    const live = (meanMs: number, count: number) => {
      for (let life = 0; life < count; life++) {
        hazard.note(0, exponential(meanMs, random.next()), true);
        hazard.perMs(0);
      }
    };
    live(30, 20_000);
    live(3_000, 6_000);

    expect(hazard.perMs(15)).toBeLessThan(1 / 1_000);
  });

  test('is finite and not negative, whatever the clocks say', () => {
    const ages = fc.double({ min: -1e12, max: 1e15, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(ages, ages, fc.boolean())), ages, (lives, ageMs) => {
        const hazard = setUp();
        for (const [fromMs, toMs, hasEnded] of lives) hazard.note(fromMs, toMs, hasEnded);

        expect(hazard.perMs(ageMs)).toBeGreaterThanOrEqual(0);
        expect(hazard.perMs(ageMs)).toBeLessThan(Number.POSITIVE_INFINITY);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the next age at which much more is expected', () => {
  test('is where ends begin, and then there is none', () => {
    const hazard = setUp();

    expect(hazard.nextRiseMs(0)).toBe(10);
    expect(hazard.nextRiseMs(10)).toBeUndefined();
    expect(hazard.nextRiseMs(1_000)).toBeUndefined();
  });

  test('moves with what was learned', () => {
    const hazard = setUp();
    for (let life = 0; life < 200; life++) hazard.note(0, 50, true);

    expect(hazard.nextRiseMs(15)).toBe(40);
  });
});

/** Something was watched from one age to another, and counts with this weight. */
interface Watch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly hasEnded: boolean;
  readonly weight?: number;
}

/** All numbers are powers of two, so that sums and quotients are exact. No end is assumed in the first two spans. */
const assumption: AssumedHazard = {
  edgesMs: [0, 8, 16, 32, 64, 128],
  perMs: (ageMs) => (ageMs < 16 ? 0 : 1 / 64),
  priorMs: 32,
};

/** Looks at each span and each watch, as the formula at the head of the file says. */
function derivedPerMs(belief: AssumedHazard, watches: readonly Watch[], ageMs: number) {
  const { edgesMs, priorMs } = belief;
  const spans = edgesMs.map((fromMs, place) => {
    const untilMs = edgesMs[place + 1] ?? Number.POSITIVE_INFINITY;
    const assumed = belief.perMs(Number.isFinite(untilMs) ? (fromMs + untilMs) / 2 : 2 * fromMs);
    const has = (atMs: number) => Math.max(0, atMs) >= fromMs && Math.max(0, atMs) < untilMs;
    let [ends, watchedMs] = [0, 0];
    for (const { weight = 1, ...watch } of watches) {
      if (watch.hasEnded && has(watch.toMs)) ends += weight;
      watchedMs += weight * Math.max(0, Math.min(watch.toMs, untilMs) - Math.max(0, watch.fromMs, fromMs));
    }
    return { has, assumed, prior: assumed > 0 ? 1 / assumed : priorMs, ends, watchedMs };
  });
  const endCount = spans.reduce((sum, { assumed, ends }) => sum + (assumed > 0 ? ends : 0), 0);
  const expectedCount = spans.reduce((sum, { assumed, watchedMs }) => sum + assumed * watchedMs, 0);
  const scale = (endCount + 4) / (expectedCount + 4);
  const span = spans.find(({ has }) => has(ageMs));
  return span && (span.ends + scale * span.assumed * span.prior) / (span.watchedMs + span.prior);
}

function learnedFrom(assumed: AssumedHazard, watches: readonly Watch[]) {
  const hazard = createAgedHazard(assumed);
  for (const { fromMs, toMs, hasEnded } of watches) hazard.note(fromMs, toMs, hasEnded);
  return hazard;
}

const agesMs = fc.integer({ min: -10, max: 300 });
const watchesOf = fc.array(
  fc.tuple(agesMs, agesMs, fc.boolean()).map(([a, b, hasEnded]) => ({
    fromMs: Math.min(a, b),
    toMs: Math.max(a, b),
    hasEnded,
  })),
  { maxLength: 30 },
);

describe('what is expected after anything was watched', () => {
  test('is, at every age, the ends that were seen and assumed in its span, by the time watched there', () => {
    const falling = { ...assumption, perMs: (ageMs: number) => (ageMs < 16 ? 0 : 1 / ageMs) };
    fc.assert(
      fc.property(watchesOf, agesMs, fc.constantFrom(assumption, falling), (watches, ageMs, assumed) => {
        const perMs = learnedFrom(assumed, watches).perMs(ageMs);

        expect(perMs).toBeCloseTo(derivedPerMs(assumed, watches, ageMs) ?? Number.NaN, 12);
      }),
      { numRuns: 300 },
    );
  });

  test('rises next where twice as much is expected, and nowhere while nothing is expected at any age', () => {
    fc.assert(
      fc.property(watchesOf, agesMs, (watches, ageMs) => {
        const hazard = learnedFrom(assumption, watches);
        const now = hazard.perMs(ageMs);
        const risen = assumption.edgesMs.find(
          (edgeMs) =>
            edgeMs > ageMs && edgeMs > 0 && hazard.perMs(edgeMs) > 0 && hazard.perMs(edgeMs) >= 2 * now,
        );

        expect(hazard.nextRiseMs(ageMs)).toBe(risen);
      }),
      { numRuns: 300 },
    );
  });

  test('counts half once more than 2,000 ends were seen or assumed, and only once, however often one asks', () => {
    const ended = { fromMs: 0, toMs: 40, hasEnded: true };
    const endless = (count: number) => ({ fromMs: 16, toMs: 16 + 64 * count, hasEnded: false });
    const perMsAfter = (before: readonly Watch[]) => {
      const hazard = learnedFrom(assumption, before);
      for (let count = 0; count < 3; count++) hazard.nextRiseMs(hazard.perMs(0));
      hazard.note(0, 40, true);
      return hazard.perMs(40);
    };
    const derived = (before: readonly Watch[], weight: number) =>
      derivedPerMs(assumption, [...before.map((watch) => ({ ...watch, weight })), ended], 40);
    const lives = Array.from({ length: 2_001 }, () => ended);

    expect(perMsAfter(lives.slice(1))).toBe(derived(lives.slice(1), 1));
    expect(perMsAfter(lives)).toBe(derived(lives, 0.5));
    expect(perMsAfter([endless(2_000)])).toBe(derived([endless(2_000)], 1));
    expect(perMsAfter([endless(2_001)])).toBe(derived([endless(2_001)], 0.5));
  });
});

test('the same question has the same answer until something more was watched, also when evidence counts half since', () => {
  const lives = Array.from({ length: 2_001 }, () => ({ fromMs: 0, toMs: 40, hasEnded: true }));
  const [hazard, other] = [learnedFrom(assumption, lives), learnedFrom(assumption, lives)];
  const answers = [hazard.perMs(40), hazard.perMs(40)];
  other.nextRiseMs(0);
  other.nextRiseMs(0);
  answers.push(other.perMs(40));

  expect(new Set(answers).size).toBe(1);
});

describe('before anything was watched', () => {
  test('the assumption is known to the last digit', () => {
    const edgesMs = Array.from({ length: 60 }, (_, span) => 2 * span);
    const hazard = createAgedHazard({ edgesMs, perMs: (ageMs) => ageMs, priorMs: 1 });

    for (const edgeMs of edgesMs.slice(0, -1)) expect(hazard.perMs(edgeMs)).toBe(edgeMs + 1);
  });

  test.each([
    [1 / 64, 1 / 32, 8],
    [1 / 64, 1 / 33, undefined],
  ])('a rise from %f to %f is one if it is to twice as much', (early, late, riseMs) => {
    const perMs = (ageMs: number) => (ageMs < 8 ? early : late);

    expect(createAgedHazard({ edgesMs: [0, 8, 16], perMs, priorMs: 1 }).nextRiseMs(0)).toBe(riseMs);
  });
});
