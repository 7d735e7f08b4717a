import { describe, expect, test } from 'vitest';
import { createNextTurn } from '../../../../functions/poller/planner/queues/next-turn.ts';
import type { Turn } from '../../../../functions/poller/planner/queues/turn.ts';
import { createTurnQueues } from '../../../../functions/poller/planner/queues/turn-queues.ts';
import { aTurn } from './turns.ts';

const INTERVAL_MS = 5_000;

/** One permit comes a second, and two readings of a turn are five seconds apart at least. */
const pacing = (recall = 0, hintTrust = 0) => ({
  requestsPerMinute: 60,
  intervalMsMin: () => INTERVAL_MS,
  recall: () => recall,
  hintTrust: () => hintTrust,
});

function setUp(recall = 0, hintTrust = 0) {
  const queues = createTurnQueues({ requestsPerMinute: 60, pollIntervalMsMin: INTERVAL_MS }, () => 10);
  const next = createNextTurn(queues, pacing(recall, hintTrust));
  const byWeight = (...turns: readonly Turn[]) => {
    for (const turn of turns) queues.byWeight.join(turn);
  };
  return { queues, next, byWeight };
}

describe('a permit', () => {
  test('goes to no turn when none waits, and nothing will change by itself', () => {
    const { next } = setUp();

    expect(next.take(0)).toBeUndefined();
    expect(next.nextChangeMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test('goes to a turn that would otherwise be late, before what is urgent, and every second one does not', () => {
    const { queues, next, byWeight } = setUp();
    const [late, later, urgent] = [aTurn('late'), aTurn('later'), aTurn('urgent')];
    queues.deadlines.welcome(late, 0);
    queues.deadlines.welcome(later, 0);
    byWeight(urgent);
    queues.byUrgency.ask(urgent, 'command', 0);

    expect([next.take(1_000_000), next.take(1_000_000), next.take(1_000_000)]).toEqual([late, urgent, later]);
  });

  test('goes to what is urgent before any turn by weight', () => {
    const { queues, next, byWeight } = setUp();
    const [waiting, urgent] = [aTurn('waiting'), aTurn('urgent', { finish: 9 })];
    byWeight(waiting, urgent);
    queues.byUrgency.ask(urgent, 'hint', 0);

    expect([next.take(0), next.take(0)]).toEqual([urgent, waiting]);
  });

  test('goes to a turn by weight before urgent ones beyond their share, and then to these', () => {
    const queues = createTurnQueues(
      {
        requestsPerMinute: 60,
        pollIntervalMsMin: INTERVAL_MS,
        urgencyShares: { command: 0, hint: 0, wish: 0 },
      },
      () => 10,
    );
    const next = createNextTurn(queues, pacing());
    const [waiting, urgent] = [aTurn('waiting'), aTurn('urgent')];
    queues.byWeight.join(waiting);
    queues.byUrgency.ask(urgent, 'command', 0);

    expect([next.take(0), next.take(0)]).toEqual([waiting, urgent]);
  });

  test('that a deadline takes adds nothing to the shares of what is urgent', () => {
    const queues = createTurnQueues(
      {
        requestsPerMinute: 60,
        pollIntervalMsMin: INTERVAL_MS,
        urgencyShares: { command: 0.01, hint: 0, wish: 0 },
      },
      () => 10,
    );
    const next = createNextTurn(queues, pacing());
    const commanded = Array.from({ length: 3 }, (_, place) => aTurn(`c${place}`));
    for (const turn of commanded) queues.byUrgency.ask(turn, 'command', 0);
    expect(next.take(0)).toBe(commanded[0]);
    for (let count = 0; count < 99; count++) next.take(Number.NEGATIVE_INFINITY);
    queues.byWeight.join(aTurn('waiting'));

    expect(next.take(0)).toBe(commanded[1]);
  });

  test('does not go to a turn that was read less than its interval ago: that turn rests until then', () => {
    const { queues, next, byWeight } = setUp();
    const [recent, ready] = [aTurn('recent', { polledAtMs: 1_000 }), aTurn('ready', { finish: 1 })];
    byWeight(recent, ready);

    expect(next.take(5_999)).toBe(ready);
    expect(queues.rests.first()).toMatchObject({ item: recent, priority: 6_000 });
    expect(next.nextChangeMs()).toBe(6_000);
  });

  test('goes to a turn whose interval is just over', () => {
    const { next, byWeight } = setUp();
    const turn = aTurn('a', { polledAtMs: 1_000 });
    byWeight(turn);

    expect(next.take(6_000)).toBe(turn);
  });

  test('cannot go before the first wish or rest is due', () => {
    const { queues, next } = setUp();
    queues.rests.set(aTurn('resting'), 9_000);
    expect(next.nextChangeMs()).toBe(9_000);
    queues.byUrgency.ask(aTurn('wished'), 'wish', 4_000);

    expect(next.nextChangeMs()).toBe(4_000);
  });
});

describe('a turn whose reading begins', () => {
  test('is under way, and waits nowhere', () => {
    const { queues, next, byWeight } = setUp();
    const turn = aTurn('a');
    byWeight(turn);
    queues.byUrgency.ask(turn, 'wish', 0);
    queues.deadlines.welcome(turn, 0);
    next.take(0);

    expect(turn).toMatchObject({ isUnderWay: true, isPressing: true });
    expect(queues.byUrgency.has(turn)).toBe(false);
    expect([next.take(1_000_000), next.take(1_000_000)]).toEqual([undefined, undefined]);
  });

  test('is pressing when a reading of it was wanted meanwhile, which is granted with it', () => {
    const { next, byWeight } = setUp();
    const turn = aTurn('a', { wanted: 'command' });
    byWeight(turn);
    next.take(0);

    expect(turn).toMatchObject({ isPressing: true, wanted: undefined });
  });

  test('is not pressing when only its weight has brought it', () => {
    const { next, byWeight } = setUp();
    const turn = aTurn('a');
    byWeight(turn);
    next.take(0);

    expect(turn.isPressing).toBe(false);
  });
});

describe('where the project list shows most transitions, a permit is kept for the next project that moves', () => {
  const SECOND_MS = 1_000 / 0.97;
  /** Takes the four permits that are assumed to be saved up at first. */
  const useSaved = ({ next, queues }: ReturnType<typeof setUp>, count: number, nowMs = 0) => {
    for (let place = 0; place < count; place++) {
      queues.byUrgency.ask(aTurn(`used ${place}`), 'command', 0);
      next.take(nowMs);
    }
  };

  test('so a turn by weight waits until two are saved up, and a moved project does not', () => {
    const choice = setUp(0.9);
    useSaved(choice, 4);
    const [waiting, moved] = [aTurn('waiting'), aTurn('moved')];
    choice.byWeight(waiting);
    expect(choice.next.take(2 * SECOND_MS - 1)).toBeUndefined();
    expect([choice.next.keepsPermit(), choice.next.nextChangeMs()]).toEqual([true, 2 * SECOND_MS]);
    choice.queues.byUrgency.ask(moved, 'hint', 0);

    expect(choice.next.take(2 * SECOND_MS - 1)).toBe(moved);
    expect(choice.next.take(3 * SECOND_MS)).toBe(waiting);
    expect(choice.next.keepsPermit()).toBe(false);
  });

  test('for two permits at most, however long all permits were used before the list was believed', () => {
    const choice = setUp(0.9);
    for (let count = 0; count <= 3_600; count++) {
      choice.queues.byUrgency.ask(aTurn(`used ${count}`), 'command', 0);
      choice.next.take(1_000 * count);
    }
    const waiting = aTurn('waiting');
    choice.byWeight(waiting);

    expect(choice.next.take(3_600_000 + 2 * SECOND_MS)).toBe(waiting);
  });

  test('and one more for a page that would come before a project if its reading had ended', () => {
    const choice = setUp(0.9);
    const [page, project] = [aTurn('page', { stride: 0.1 }), aTurn('project', { finish: 7 })];
    choice.byWeight(Object.assign(page, { page: 0 }), project);
    expect(choice.next.take(0)).toBe(page);
    useSaved(choice, 2);
    expect(choice.next.take(2 * SECOND_MS - 1)).toBeUndefined();
    choice.queues.byWeight.leave(page);

    expect(choice.next.take(2 * SECOND_MS - 1)).toBe(project);
  });

  test('but no more for a page that comes next itself, although another page is being read', () => {
    const choice = setUp(0.9);
    const [read, next] = [aTurn('read', { stride: 0.1 }), aTurn('next', { finish: 7 })];
    choice.byWeight(Object.assign(read, { page: 0 }), Object.assign(next, { page: 1 }));
    expect(choice.next.take(0)).toBe(read);
    useSaved(choice, 2);

    expect(choice.next.take(1.5 * SECOND_MS)).toBe(next);
  });

  test('and none where no turn waits', () => {
    const { next } = setUp(0.9);

    expect(next.take(0)).toBeUndefined();
    expect([next.keepsPermit(), next.nextChangeMs()]).toEqual([false, Number.POSITIVE_INFINITY]);
  });

  test('which begins at nine tenths of the transitions, and is not so where it shows fewer', () => {
    const takenAt = (recall: number) => {
      const choice = setUp(recall);
      useSaved(choice, 4);
      choice.byWeight(aTurn('waiting'));
      return choice.next.take(1)?.id;
    };

    expect([takenAt(0.89), takenAt(0.9)]).toEqual(['waiting', undefined]);
  });

  test('but not from the permit after a deadline, because the next deadline would take it: pages are read, too', () => {
    const choice = setUp(0.9);
    useSaved(choice, 4, 19_000);
    const late = [aTurn('late'), aTurn('later')] as const;
    for (const turn of late) choice.queues.deadlines.welcome(turn, 0);
    const page = aTurn('page');
    choice.byWeight(page);

    expect([choice.next.take(19_000), choice.next.take(19_000)]).toEqual([late[0], page]);
    expect(choice.next.take(19_000)).toBe(late[1]);
  });

  test('but a turn that would otherwise be late is read with it', () => {
    const choice = setUp(0.9);
    useSaved(choice, 4);
    const late = aTurn('late');
    choice.queues.deadlines.welcome(late, 0);

    expect(choice.next.take(19_000)).toBe(late);
  });
});

describe('a permit that is offered to something else than a turn', () => {
  test('is taken when nothing else is late, and is not when nobody wants it', () => {
    const { next } = setUp();
    expect([next.offer(0, () => 'computes'), next.offer(0, () => undefined)]).toEqual([
      'computes',
      undefined,
    ]);
  });

  test('leaves with a request when it is taken, so that fewer are saved for what the list shows', () => {
    const offerFour = (take: () => string | undefined) => {
      const { next, byWeight } = setUp(1);
      const turn = aTurn('waiting');
      byWeight(turn);
      for (let count = 0; count < 4; count++) next.offer(0, take);
      return next.take(0)?.id;
    };

    expect(offerFour(() => 'computes')).toBeUndefined();
    expect(offerFour(() => undefined)).toBe('waiting');
  });

  test('is not offered before a turn that would otherwise be late, and every second one is', () => {
    const { queues, next } = setUp();
    const [late, later] = [aTurn('late'), aTurn('later')];
    for (const turn of [late, later]) queues.deadlines.welcome(turn, 0);
    const offer = () => next.offer(1_000_000, () => 'computes');

    expect([offer(), next.take(1_000_000), offer(), offer()]).toEqual([
      undefined,
      late,
      'computes',
      undefined,
    ]);
    expect(next.take(1_000_000)).toBe(later);
  });
});
