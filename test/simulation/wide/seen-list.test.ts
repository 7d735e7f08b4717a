import { describe, expect, test } from 'vitest';
import type { Evidence } from './checker/evidence.ts';
import { hadSeenTheList } from './checker/seen-list.ts';
import { START_MS } from './timeline.ts';
import { loggedRequest } from './upstream/request-log.ts';
import { createTruth, type TruthProject } from './upstream/truth.ts';

const CAME_MS = START_MS + 300_000;

const project = (id: string, fromMs = 0): TruthProject => ({
  id,
  createdMs: 0,
  visible: [{ fromMs, toMs: Number.POSITIVE_INFINITY }],
  unavailable: [],
  malformed: [],
  failing: [],
  notFound: [],
  operations: [],
});

const came = project('pond-2', CAME_MS);
const truth = createTruth([project('pond-0'), project('pond-1'), came]);
const stage = { upstream: { truth } } as Evidence['stage'];

/** Each page was shown this many seconds after the start. */
const shown = (pages: readonly (readonly [second: number, shownIds: readonly string[]])[], by = 'poller-0') =>
  pages.map(([second, shownIds]) => ({
    ...loggedRequest({ atMs: START_MS + second * 1_000, by, isCommand: false, path: '', key: '' }),
    route: 'projects' as const,
    shownIds,
  }));

const WHOLE_LIST = [
  [0, ['pond-0']],
  [1, ['pond-1']],
  [100, []],
] as const;

describe('a process has seen the list', () => {
  test('when every page of it was shown and the process lived on to write that down', () => {
    const answers = shown([...WHOLE_LIST, [120, ['pond-0']]]);

    expect(hadSeenTheList({ stage, answers }, came, CAME_MS)).toBe(true);
  });

  // Seed 6836 was red for this reason: no code can write down what it has read when its process ends at once.
  test('but not when the process ended with the last page', () => {
    expect(hadSeenTheList({ stage, answers: shown(WHOLE_LIST) }, came, CAME_MS)).toBe(false);
  });

  test('but not when two processes have seen one half each', () => {
    const answers = [...shown([WHOLE_LIST[0], [120, []]]), ...shown([WHOLE_LIST[1], [121, []]], 'poller-1')];

    expect(hadSeenTheList({ stage, answers }, came, CAME_MS)).toBe(false);
  });
});
