/** Says what is allowed of an account and hardly meant, so that an administrator can look again. */

import type { LaneStatus } from '../../../shared/lanes/lane-status.ts';

export interface AccountFacts {
  /** The account is pinned to this lane. */
  readonly lane: number | undefined;
  /** These lanes poll now. The list is empty before the first one has reported. */
  readonly presentLanes: readonly Pick<LaneStatus, 'lane'>[];
  /** These other accounts have the same key of the upstream. */
  readonly sameKeyAs: readonly string[];
}

/** Returns a sentence for each warning. */
export function accountWarnings({ lane, presentLanes, sameKeyAs }: AccountFacts): readonly string[] {
  return [...laneWarnings(lane, presentLanes), ...keyWarnings(sameKeyAs)];
}

function laneWarnings(lane: number | undefined, present: AccountFacts['presentLanes']): readonly string[] {
  if (lane === undefined || present.length === 0 || present.some((each) => each.lane === lane)) return [];
  const lanes = present.map((each) => each.lane).join(', ');
  return [
    `There is no lane ${lane} now, only ${lanes}: until a deployment adds it, the lane of the account follows from its id.`,
  ];
}

/** A person can act on a few names, and has the list of accounts for more. */
const NAMED_MAX = 5;

function keyWarnings(accountIds: readonly string[]): readonly string[] {
  if (accountIds.length === 0) return [];
  const named = accountIds.slice(0, NAMED_MAX).join(', ');
  const others = accountIds.length > NAMED_MAX ? ` and ${accountIds.length - NAMED_MAX} more` : '';
  return [
    `The same key is used for ${named}${others}: these accounts share one rate limit of the upstream, and each project that several of them see is polled and published once for each.`,
  ];
}
