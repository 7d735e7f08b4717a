/** Draws by seed what can happen to the planner, and compares how long each project waited with the promise. */

import { expectedRecall } from '../../../functions/poller/planner/hints/hint-recall.ts';
import { createPollPlanner, type PollDecision } from '../../../functions/poller/planner/poll-planner.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { busy, MINUTE_MS, quiet, readWell } from './planner-under-load.ts';

const BACKOFF_MS_MAX = 5 * MINUTE_MS;
const UNDER_WAY_MAX = 11;

export interface Adversary {
  readonly random: Random;
  readonly projectCount: number;
  readonly requestsPerMinute: number;
  /** This share of the permits reaches the planner. */
  readonly permitShare: number;
  readonly pollIntervalMsMin: number;
  /** This many events of each kind happen per permit. */
  readonly rates: Readonly<Record<EventKind, number>>;
  /** The urgent events choose from this share of the projects. */
  readonly favouriteShare: number;
  readonly failureShare: number;
  readonly leftoverShare: number;
  readonly busyShare: number;
  readonly isKnown: boolean;
  readonly rounds: number;
}

type EventKind = 'command' | 'hint' | 'wish' | 'added' | 'removed';
type CountedKind = EventKind | 'failure' | 'leftover' | 'listed';

interface Wait {
  readonly id: string;
  readonly waitedMs: number;
  readonly boundMs: number;
  readonly isFirst: boolean;
}

export function drawAdversary(random: Random, seed: number): Adversary {
  const some = (max: number) => (random.next() < 0.5 ? 0 : random.next() * max);
  const hasChanges = seed % 3 === 0;
  return {
    random,
    projectCount: 1 + Math.floor(random.next() ** 2 * 400),
    requestsPerMinute: [10, 70, 350, 700][Math.floor(random.next() * 4)] ?? 350,
    permitShare: random.next() < 0.5 ? 1 : 0.3 + 0.7 * random.next(),
    pollIntervalMsMin: [500, 5_000, 60_000, 300_000][Math.floor(random.next() ** 2 * 4)] ?? 5_000,
    rates: {
      command: some(3),
      hint: some(3),
      wish: some(3),
      added: hasChanges ? 0.05 : 0,
      removed: hasChanges ? 0.04 : 0,
    },
    favouriteShare: random.next(),
    failureShare: some(0.5),
    leftoverShare: some(0.5),
    busyShare: some(1),
    isKnown: random.next() < 0.5,
    rounds: 10,
  };
}

interface Known {
  /** The wait counts from this time: the project became known, its last reading ended, or its rest is over. */
  sinceMs: number;
  isFirst: boolean;
  failureCount: number;
  restsUntilMs: number;
  /** This is the largest number of turns since then. */
  turnCountMax: number;
}

export function runAgainst(adversary: Adversary) {
  const { random, requestsPerMinute, pollIntervalMsMin, rates } = adversary;
  const listing = { intervalMsMax: MINUTE_MS, hintIntervalMsMin: pollIntervalMsMin / 4 };
  const plan = createPollPlanner({
    pollIntervalMsMin,
    requestsPerMinute,
    failureBackoffMsMax: BACKOFF_MS_MAX,
    listing,
  });
  const fullPermitMs = MINUTE_MS / requestsPerMinute;
  const permitMs = fullPermitMs / adversary.permitShare;
  const known = new Map<string, Known>();
  const underWay: (PollDecision & { readonly untilMs: number })[] = [];
  const waits: Wait[] = [];
  const counts: Record<CountedKind, number> = {
    command: 0,
    hint: 0,
    wish: 0,
    failure: 0,
    leftover: 0,
    added: 0,
    removed: 0,
    listed: 0,
  };
  const moved = new Set<string>();
  /** Says from when on a project may have waited for how many rounds, by what the list was expected to show. */
  const roundsMax = [{ fromMs: 0, rounds: 4 }];
  let nowMs = 0;
  let lastId = 0;
  add(adversary.projectCount);
  plan.reportPage(0, pageAt(), nowMs);

  const endMs = adversary.rounds * Math.max(MINUTE_MS / 4, adversary.projectCount * fullPermitMs);
  for (; nowMs < endMs; nowMs += permitMs) {
    for (const kind of Object.keys(rates) as EventKind[])
      for (let left = draw(rates[kind]); left > 0; left--) happen(kind);
    endReadings();
    if (underWay.length < UNDER_WAY_MAX) begin(plan.next(nowMs));
  }
  for (const [id, state] of known) if (!isUnderWay(id)) noteWait(id, state);
  return { waits, counts, permitMs };

  function draw(mean: number): number {
    return Math.floor(mean + random.next());
  }

  function add(count: number): void {
    const added = Array.from({ length: count }, () => `p${lastId++}`);
    for (const id of added)
      known.set(id, { sinceMs: nowMs, isFirst: true, failureCount: 0, restsUntilMs: 0, turnCountMax: 0 });
    counts.added += count;
    const history = { arrivalCount: 1 + random.next() * 50, observedMs: 24 * 60 * MINUTE_MS };
    plan.setProjects(
      [...known.keys()],
      adversary.isKnown ? new Map(added.map((id) => [id, history])) : new Map(),
    );
    // The page of the list is one more turn.
    for (const state of known.values()) state.turnCountMax = Math.max(state.turnCountMax, known.size + 1);
  }

  function remove(): void {
    const id = anyOf([...known.keys()].filter((each) => !isUnderWay(each)));
    if (id === undefined || known.size < 2) return;
    known.delete(id);
    counts.removed += 1;
    plan.setProjects([...known.keys()]);
  }

  function happen(kind: EventKind): void {
    if (kind === 'added') add(1 + Math.floor(random.next() * 3));
    else if (kind === 'removed') remove();
    else hurry(kind);
  }

  function hurry(kind: 'command' | 'hint' | 'wish'): void {
    const ids = [...known.keys()];
    const id = anyOf(ids.slice(0, Math.ceil(adversary.favouriteShare * ids.length)));
    if (id === undefined) return;
    counts[kind] += 1;
    if (kind === 'command') plan.markHot(id);
    else if (kind === 'wish') plan.wish(id);
    else moved.add(id);
    if (kind === 'hint' && moved.size > 20) {
      plan.reportPage(0, pageAt(), nowMs);
      noteRounds();
    }
  }

  function anyOf(ids: readonly string[]): string | undefined {
    return ids[Math.floor(random.next() * ids.length)];
  }

  function pageAt() {
    const rows = [...known.keys()].map((id) => ({
      id,
      updated_at: moved.has(id) ? `${nowMs}` : 'as before',
    }));
    moved.clear();
    return { rows, isEmpty: rows.length === 0, isFull: false, cursor: undefined };
  }

  /** The rounds are four, and up to sixteen where less than a hundredth of the transitions is expected to be missed. */
  function noteRounds(): void {
    const recall = Math.max(...plan.hintEvidence().map((field) => expectedRecall(field.recall)));
    const rounds = Math.min(16, Math.max(4, 4 * Math.sqrt(0.01 / (1 - recall))));
    if (rounds !== roundsMax.at(-1)?.rounds) roundsMax.push({ fromMs: nowMs, rounds });
  }

  function mostRoundsSince(sinceMs: number): number {
    const last = roundsMax.findLastIndex(({ fromMs }) => fromMs <= sinceMs);
    return Math.max(...roundsMax.slice(last).map(({ rounds }) => rounds));
  }

  function isUnderWay(id: string): boolean {
    return underWay.some((each) => each.kind === 'poll' && each.projectId === id);
  }

  function begin(decision: PollDecision): void {
    if (decision.kind === 'wait') return;
    const takesMs = random.next() < 0.8 ? 0 : random.next() * 10 * permitMs;
    underWay.push({ ...decision, untilMs: nowMs + takesMs });
    if (decision.kind === 'list') {
      counts.listed += 1;
      return;
    }
    const state = known.get(decision.projectId);
    if (state !== undefined) noteWait(decision.projectId, state);
  }

  function noteWait(id: string, state: Known): void {
    const isResting = nowMs < state.restsUntilMs;
    if (!isResting)
      waits.push({ id, waitedMs: nowMs - state.sinceMs, boundMs: boundMs(state), isFirst: state.isFirst });
  }

  /** Returns the bound that the theorem states. */
  function boundMs({ isFirst, failureCount, restsUntilMs, sinceMs, turnCountMax }: Known): number {
    const roundMs = turnCountMax * fullPermitMs;
    const slowedMs = 2 * roundMs * (1 / adversary.permitShare - 1);
    const capMs = Math.max(MINUTE_MS, mostRoundsSince(sinceMs) * roundMs, pollIntervalMsMin + 2 * roundMs);
    const restMs = Math.max(0, restsUntilMs - sinceMs);
    if (failureCount > 0) return Math.max(capMs, restMs + 2 * roundMs) + slowedMs;
    return (isFirst ? 2 * roundMs : capMs) + slowedMs;
  }

  function endReadings(): void {
    const ended = underWay.filter(({ untilMs }) => untilMs <= nowMs);
    for (const reading of ended) {
      underWay.splice(underWay.indexOf(reading), 1);
      if (reading.kind === 'poll') endReading(reading.projectId);
      else if (reading.kind === 'list')
        plan.reportPage(reading.page, random.next() < 0.9 ? pageAt() : undefined, nowMs);
      noteRounds();
    }
  }

  function endReading(id: string): void {
    const before = known.get(id);
    const hasFailed = random.next() < adversary.failureShare;
    const hasLeftovers = random.next() < adversary.leftoverShare;
    counts.failure += Number(hasFailed);
    counts.leftover += Number(hasLeftovers);
    const activity = random.next() < adversary.busyShare ? busy(nowMs) : quiet;
    plan.report(id, { ...readWell, hasFailed, hasLeftovers, foundTransition: hasLeftovers, activity }, nowMs);
    noteRounds();
    if (before === undefined) return;
    const failureCount = hasFailed ? before.failureCount + 1 : 0;
    const restMs = Math.min(Math.max(5_000, pollIntervalMsMin) * 2 ** (failureCount - 1), BACKOFF_MS_MAX);
    const restsUntilMs = hasFailed ? nowMs + restMs : 0;
    known.set(id, {
      sinceMs: nowMs,
      isFirst: false,
      failureCount,
      restsUntilMs,
      turnCountMax: known.size + 1,
    });
  }
}
