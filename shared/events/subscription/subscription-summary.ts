/** Says in one sentence what a subscription delivers, for the head of its file and for the command. */

import { TARGET_KINDS, type TargetKind } from './subscription-order.ts';
import type { Subscription } from './subscription-pattern.ts';
import { subjectOf } from './subscription-subjects.ts';

export function subscriptionSummary(subscription: Subscription, target: TargetKind): string {
  const { subject, projects, accounts, actions, statuses, replays } = subscription;
  const { meaning, statusField = 'status' } = subjectOf(subject);
  const limits = [
    limit('project', projects),
    limit('account', accounts),
    limit('action', actions),
    limit(statusField, statuses),
  ].filter((text) => text !== '');
  const where = limits.length === 0 ? '' : `, where ${limits.join(' and ')}`;
  const copies = replays === 'left_out' ? ' Replays are left out.' : '';
  return `Delivers ${meaning}${where}, to ${TARGET_KINDS[target]}.${copies}`;
}

function limit(name: string, values: readonly string[]): string {
  if (values.length <= 1) return values.length === 0 ? '' : `${name} is ${values[0]}`;
  return `${name} is ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}
