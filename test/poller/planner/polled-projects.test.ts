import { describe, expect, test } from 'vitest';
import { createNeededTurns } from '../../../functions/poller/planner/needed-turns.ts';
import { createPolledProjects } from '../../../functions/poller/planner/polled-projects.ts';
import { createProjectStrides } from '../../../functions/poller/planner/project-strides.ts';
import type { Turn } from '../../../functions/poller/planner/queues/turn.ts';
import { createTurnQueues } from '../../../functions/poller/planner/queues/turn-queues.ts';
import { turnSlots } from './queues/turns.ts';

const HISTORY = { arrivalCount: 8, observedMs: 86_400_000 };

function setUp() {
  const byId = new Map<string, Turn>();
  const forgotten: string[] = [];
  const limits = { requestsPerMinute: 60, pollIntervalMsMin: 5_000 };
  const queues = createTurnQueues(limits, () => 10);
  const strides = createProjectStrides(turnSlots);
  const forgottenTurns: string[] = [];
  const forgottenComputes: string[] = [];
  const needed = createNeededTurns(byId, () => 0);
  const projects = createPolledProjects({
    byId,
    queues,
    strides: {
      welcome: (ids, histories) => strides.welcome(ids, histories),
      forget: (turn) => {
        forgottenTurns.push(turn.id);
        strides.forget(turn);
      },
    },
    hints: { forget: (id) => void forgotten.push(id) },
    needed,
    computes: { forget: (turn) => void forgottenComputes.push(turn.id) },
  });
  const takeAll = () => {
    const ids: string[] = [];
    for (let turn = queues.byWeight.take(); turn !== undefined; turn = queues.byWeight.take())
      ids.push(turn.id);
    return ids;
  };
  return { byId, queues, projects, needed, forgotten, forgottenTurns, forgottenComputes, takeAll };
}

describe('projects that become known', () => {
  test('get a turn each, and keep it when they are added again', () => {
    const { byId, projects, takeAll } = setUp();
    projects.add(['a']);
    const turn = byId.get('a');
    projects.add(['a', 'b']);

    expect(byId.get('a')).toBe(turn);
    expect(takeAll()).toEqual(['a', 'b']);
  });

  test('are read first when no process has read them, and otherwise within their stride', () => {
    const { byId, projects, takeAll } = setUp();
    projects.add(
      ['known', 'known-2'],
      new Map([
        ['known', HISTORY],
        ['known-2', HISTORY],
      ]),
    );
    projects.add(['new']);

    expect(byId.get('known')).toMatchObject({ isSpread: true, history: HISTORY });
    expect(byId.get('new')).toMatchObject({ isSpread: false, finish: 0 });
    expect(byId.get('known-2')?.finish).toBeGreaterThan(0);
    expect(takeAll().at(-1)).toBe('known-2');
  });

  test('keep an invocation going until they are read, or go', () => {
    const { projects, needed } = setUp();
    expect(needed.haveBeenRead(0)).toBe(true);
    projects.add(['a']);
    expect(needed.haveBeenRead(0)).toBe(false);
    projects.remove(['a']);
    expect(needed.haveBeenRead(0)).toBe(true);
  });

  test('have a deadline from the next look at the clock on, once', () => {
    const { byId, queues, projects } = setUp();
    projects.add(['a']);
    expect(queues.deadlines.due(1_000_000)).toBeUndefined();
    projects.welcomeNewcomers(1_000_000);
    projects.welcomeNewcomers(1_500_000);

    expect(queues.deadlines.due(1_017_999)).toBeUndefined();
    expect(queues.deadlines.due(1_018_000)).toBe(byId.get('a'));
  });

  test('have no deadline when they went before that', () => {
    const { queues, projects } = setUp();
    projects.add(['a']);
    projects.remove(['a']);
    projects.welcomeNewcomers(0);

    expect(queues.deadlines.due(1_000_000)).toBeUndefined();
  });
});

describe('projects that go', () => {
  test('lose their turn at every place, and what was learned of them', () => {
    const { byId, projects, forgotten, forgottenTurns, forgottenComputes, takeAll } = setUp();
    projects.add(['a', 'b']);
    projects.remove(['a', 'unknown']);

    expect([...byId.keys()]).toEqual(['b']);
    expect(takeAll()).toEqual(['b']);
    expect([forgotten, forgottenTurns, forgottenComputes]).toEqual([['a'], ['a'], ['a']]);
  });

  test('are all that are not among those that are set', () => {
    const { byId, projects, forgotten } = setUp();
    projects.add(['a', 'b']);
    projects.set(['b', 'c', 'c'], new Map([['c', HISTORY]]));

    expect([...byId.keys()]).toEqual(['b', 'c']);
    expect(byId.get('c')?.history).toBe(HISTORY);
    expect(forgotten).toEqual(['a']);
  });
});
