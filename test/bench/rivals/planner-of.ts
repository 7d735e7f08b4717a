/** Lets a rival's policy decide for the whole poller, in the place of production's planner, once the project list was read. */

import type { Listing } from '../../../functions/poller/planner/list-hints.ts';
import type { PollDecision, PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { projectIdOf, projectOf } from '../bridge/virtual-upstream.ts';
import type { Decision, Policy } from './policies.ts';

const WHOLE: Omit<Listing, 'startedAtMs'> = { unavailableCount: 0, malformedRowCount: 0, end: 'end' };

export function plannerOf(policy: Policy): PollPlanner {
  /** The first listing goes on here. It is undefined while a page of it is being read, and once it has ended. */
  let nextPage: (PollDecision & { kind: 'list' }) | undefined;
  let isAsked = false;
  let isListed = false;
  return {
    next(nowMs) {
      if (isListed) return pollDecisionOf(policy.next(nowMs));
      const page = nextPage;
      nextPage = undefined;
      return page ?? { kind: 'wait', untilMs: nowMs + 100 };
    },
    reportPage(page, shown, nowMs) {
      if (isListed) return undefined;
      isListed = shown !== undefined && (shown.rows.length === 0 || shown.cursor === undefined);
      if (isListed) return { startedAtMs: nowMs, ...WHOLE };
      nextPage = { kind: 'list', page: page + 1, cursor: shown?.cursor };
      return undefined;
    },
    askForListing() {
      if (!isAsked) nextPage = { kind: 'list', page: 0, cursor: undefined };
      isAsked = true;
    },
    report: (projectId, { activity }, nowMs) =>
      policy.report(projectOf(projectId), { hasOpen: activity?.openSinceMs !== undefined }, nowMs),
    need: () => ({ hasReadAll: false, hasWork: false, expectedTransitionsPerMs: 0 }),
    addProjects: () => {},
    removeProjects: () => {},
    reportComputes: () => {},
    askAtOnce: () => {},
    wish: () => {},
    waitingCount: () => 0,
    historyOf: () => undefined,
    hintEvidence: () => [],
    restoreHints: () => {},
  };
}

function pollDecisionOf(decision: Decision): PollDecision {
  if (decision.kind === 'poll') return { kind: 'poll', projectId: projectIdOf(decision.project) };
  if (decision.kind === 'computes') return { kind: 'computes', projectId: projectIdOf(decision.project) };
  return decision.kind === 'list' ? { ...decision, cursor: undefined } : decision;
}
