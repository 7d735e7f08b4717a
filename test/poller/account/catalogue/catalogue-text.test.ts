import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CATALOGUE_CHUNKS,
  type CataloguedProject,
  cataloguedIn,
  catalogueText,
  chunkOf,
  digestOf,
} from '../../../../functions/poller/account/catalogue/catalogue-text.ts';
import { PROJECTS_MAX } from '../../../../functions/poller/planner/project-list/listing.ts';

const DAY_MS = 86_400_000;

const aProject = (): fc.Arbitrary<CataloguedProject> =>
  fc.record({
    id: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}$/),
    history: fc.option(
      fc.record({
        arrivalCount: fc.double({ min: 0, max: 100_000, noNaN: true }),
        observedMs: fc.integer({ min: 60_000, max: DAY_MS }),
      }),
      { nil: undefined },
    ),
  });

describe('a chunk of the catalogue', () => {
  test('names the same projects after it was written and read, with rates that are off by a hundredth at most', () => {
    fc.assert(
      fc.property(fc.array(aProject()), (projects) => {
        const read = cataloguedIn(catalogueText(projects));

        expect(read.map(({ id }) => id)).toEqual(projects.map(({ id }) => id));
        for (const [place, { history }] of projects.entries()) {
          const again = read[place]?.history;
          expect(again === undefined).toBe(history === undefined);
          if (history === undefined || again === undefined) continue;
          expect(Math.abs(again.arrivalCount - history.arrivalCount)).toBeLessThanOrEqual(
            0.01 * history.arrivalCount,
          );
          expect(Math.abs(again.observedMs - history.observedMs)).toBeLessThanOrEqual(30_000);
        }
      }),
    );
  });

  test.each([
    ['a word too much', 'a 1 2 3'],
    ['no number', 'a x 2'],
    ['a time of nothing', 'a 1 0'],
    ['only one number', 'a 1'],
    ['an empty line', ''],
  ])('leaves out a line with %s, and reads the others', (_, line) => {
    expect(cataloguedIn(`b\n${line}\nc 8 1440`)).toEqual([
      { id: 'b', history: undefined },
      { id: 'c', history: { arrivalCount: 8, observedMs: DAY_MS } },
    ]);
  });

  test('has the same digest in any order, and another one when a project or its first history is new', () => {
    const history = { arrivalCount: 1, observedMs: DAY_MS };
    const [a, b] = [
      { id: 'a', history: undefined },
      { id: 'b', history },
    ];

    expect(digestOf([a, b])).toBe(digestOf([b, a]));
    expect(digestOf([a, { id: 'b', history: { ...history, arrivalCount: 9 } }])).toBe(digestOf([a, b]));
    expect(digestOf([a])).not.toBe(digestOf([a, b]));
    expect(digestOf([{ ...a, history }, b])).not.toBe(digestOf([a, b]));
  });

  test('stays below the size of an item when the account has as many projects as can be polled, with the longest ids', () => {
    const counts = Array.from({ length: CATALOGUE_CHUNKS }, () => 0);
    for (let place = 0; place < PROJECTS_MAX; place++) {
      const chunk = chunkOf(`spring-cloud-${place}`);
      counts[chunk] = (counts[chunk] ?? 0) + 1;
    }
    const longest = catalogueText([
      { id: 'x'.repeat(63), history: { arrivalCount: 99_900, observedMs: DAY_MS } },
    ]);

    expect(Math.max(...counts) * (longest.length + 1)).toBeLessThan(380_000);
  });
});
