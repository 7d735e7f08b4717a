/** Which project to poll next: earliest due first, so that open operations come often and nothing starves. */

export interface PollPlanner {
  /** The projects to poll from now on; what is known of the others is forgotten. */
  setProjects(projectIds: readonly string[]): void;
  /** A poll that is handed out counts as under way until it is reported. */
  next(nowMs: number): PollDecision;
  report(projectId: string, result: PollResult, nowMs: number): void;
  /** Something is known to happen there: poll it as soon as possible. */
  markHot(projectId: string): void;
}

export type PollDecision =
  | { readonly kind: 'poll'; readonly projectId: string }
  /** Nothing is due; `untilMs` is infinite when every project is under way or there is none. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export interface PollResult {
  /** When its open operations want to be read again; undefined when there is none. */
  readonly rereadInMs: number | undefined;
  readonly hasFailed: boolean;
}

export interface PlannerLimits {
  /** The specification suggests five seconds ("Operations", rule 3): no project is polled more often. */
  readonly pollIntervalMsMin: number;
  /** The share of the rate limit that polls may use: a full round of all projects takes at least N / rate. */
  readonly requestsPerMinute: number;
  /** A project that fails is left alone for twice as long each time, up to this. */
  readonly failureBackoffMsMax: number;
}

interface Turn {
  dueAtMs: number;
  isUnderWay: boolean;
  failureCount: number;
}

/** The rest of the budget is for open operations, second pages and listings. */
const ROUND_SHARE = 0.75;

export function createPollPlanner(limits: PlannerLimits): PollPlanner {
  const turns = new Map<string, Turn>();

  const roundMs = () => {
    const roundRequestsPerMs = (limits.requestsPerMinute * ROUND_SHARE) / 60_000;
    return Math.max(limits.pollIntervalMsMin, turns.size / roundRequestsPerMs);
  };

  return {
    setProjects(projectIds) {
      const wanted = new Set(projectIds);
      for (const id of turns.keys()) if (!wanted.has(id)) turns.delete(id);
      for (const id of wanted) {
        if (!turns.has(id)) turns.set(id, { dueAtMs: 0, isUnderWay: false, failureCount: 0 });
      }
    },

    next(nowMs) {
      const idle = [...turns].filter(([, turn]) => !turn.isUnderWay);
      const first = idle.reduce<[string, Turn] | undefined>(
        (best, candidate) =>
          best === undefined || candidate[1].dueAtMs < best[1].dueAtMs ? candidate : best,
        undefined,
      );
      if (first === undefined) return { kind: 'wait', untilMs: Number.POSITIVE_INFINITY };
      const [projectId, turn] = first;
      if (turn.dueAtMs > nowMs) return { kind: 'wait', untilMs: turn.dueAtMs };
      turn.isUnderWay = true;
      return { kind: 'poll', projectId };
    },

    report(projectId, result, nowMs) {
      const turn = turns.get(projectId);
      if (turn === undefined) return;
      turn.isUnderWay = false;
      turn.failureCount = result.hasFailed ? turn.failureCount + 1 : 0;
      turn.dueAtMs = nowMs + pauseMs(result, turn.failureCount);
    },

    markHot(projectId) {
      const turn = turns.get(projectId);
      if (turn !== undefined) turn.dueAtMs = 0;
    },
  };

  function pauseMs(result: PollResult, failureCount: number): number {
    const { pollIntervalMsMin, failureBackoffMsMax } = limits;
    if (failureCount > 0) return Math.min(pollIntervalMsMin * 2 ** (failureCount - 1), failureBackoffMsMax);
    return Math.max(pollIntervalMsMin, Math.min(roundMs(), result.rereadInMs ?? Number.POSITIVE_INFINITY));
  }
}
