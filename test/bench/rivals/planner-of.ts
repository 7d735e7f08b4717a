/** Lets a rival's policy decide for the whole poller, in the place of production's planner. */

import type { PollDecision, PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { projectIdOf, projectOf } from '../bridge/virtual-upstream.ts';
import type { Decision, Policy } from './policies.ts';

export function plannerOf(policy: Policy): PollPlanner {
  return {
    next: (nowMs) => pollDecisionOf(policy.next(nowMs)),
    report: (projectId, { activity }, nowMs) =>
      policy.report(projectOf(projectId), { hasOpen: activity?.openSinceMs !== undefined }, nowMs),
    need: () => ({ hasReadAll: false, hasWork: false, expectedTransitionsPerMs: 0 }),
    addProjects: () => {},
    removeProjects: () => {},
    reportPage: () => undefined,
    askForListing: () => {},
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
