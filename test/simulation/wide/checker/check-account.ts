/** Account Degraded and Recovered, and how the key is handled when it is refused. */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import type { Evidence } from './evidence.ts';

/** So many requests may be under way when the first refusal comes back; more of them in a minute are a storm. */
const REFUSED_PER_MINUTE_MAX = 15;

export function checkAccount({ stage, events }: Evidence): readonly Violation[] {
  const { log } = stage.upstream;
  const wrong = (rule: string, detail: string): Violation => ({ rule, operation_id: '', detail });
  const refusals = log.filter(({ status, isCommand }) => status === 401 && !isCommand);
  const own = events.filter(({ detailType }) => detailType.startsWith('Account '));
  const lies = own
    .filter(({ detailType }) => detailType === 'Account Degraded')
    .filter(({ event, atMs, by }) =>
      event.reason === 'key_rejected'
        ? !refusals.some((refused) => refused.atMs <= atMs)
        : wasServed(log, by, atMs),
    )
    .map(({ detail }) => wrong('degraded-in-vain', detail));
  const last = own.toSorted((a, b) => a.atMs - b.atMs).at(-1);
  const isLeft = last?.detailType === 'Account Degraded' && stage.restores.length === 0;
  const storm = refusals.some(
    ({ atMs }) =>
      refusals.filter((other) => other.atMs >= atMs && other.atMs < atMs + MINUTE_MS).length >
      REFUSED_PER_MINUTE_MAX,
  );
  return [
    ...lies,
    ...(isLeft ? [wrong('not-recovered', last.detail)] : []),
    ...(storm ? [wrong('refused-key-storm', `${refusals.length} requests with a refused key`)] : []),
  ];
}

/** The very process that says so has read operations all along. */
function wasServed(log: readonly LoggedRequest[], by: string, atMs: number): boolean {
  const READINGS_MIN = 3;
  const lately = log.filter(
    (request) => request.by === by && request.atMs <= atMs && request.atMs > atMs - MINUTE_MS,
  );
  return (
    lately.filter(({ route, isDelivered, status }) => route === 'operations' && isDelivered && status === 200)
      .length >= READINGS_MIN
  );
}
