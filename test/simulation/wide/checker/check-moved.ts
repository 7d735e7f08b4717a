/** Checks that a project which moves between two accounts is one project: nothing of it is lost, and nothing is told again. */

import { brokenPromises } from '../../../doors/poller/promises.ts';
import type { Violation } from '../../check-history.ts';
import { MOVING_ACCOUNTS, MOVING_PROJECT_ID } from '../cloud/moving-project.ts';
import { allToldIn, type Evidence } from './evidence.ts';

const MINUTE_MS = 60_000;

export function checkMoved({ stage }: Evidence): readonly Violation[] {
  const { moving } = stage;
  if (moving === undefined) return [];
  const told = allToldIn(stage).filter(({ event }) => event.project_id === MOVING_PROJECT_ID);
  const copies = told.map(({ atMs, detailType, detail, event }) => ({
    atMs,
    type: detailType,
    text: detail,
    detail: { ...event },
  }));
  const { atMs: seenMs = Number.POSITIVE_INFINITY } =
    moving.services['moves-from'].sent.find(({ path }) => path.includes(MOVING_PROJECT_ID)) ?? {};
  // What the first listing of an account shows is no news, and what an account has never read did not move away from it.
  if (!moving.isToListed || seenMs + MINUTE_MS > moving.movesAtMs) return [];
  const rows = moving.services['moves-to']
    .rows()
    .filter(({ updated_at }) => Date.parse(updated_at) > seenMs + MINUTE_MS);
  const wrong = (rule: string, detail: string) => ({ rule, operation_id: MOVING_PROJECT_ID, detail });
  return [
    ...brokenPromises(copies, rows).map((detail) => wrong('moved-chain', detail)),
    ...newsOf(stage, copies).map((detail) => wrong('moved-once', detail)),
  ];
}

type Copy = {
  readonly atMs: number;
  readonly type: string;
  readonly detail: { readonly id: string; readonly account_id: string };
};

/** The account that had the project may say that it is gone only where nobody could read the list of the other one in time. */
function newsOf({ moving }: Evidence['stage'], copies: readonly Copy[]): readonly string[] {
  const [from, to] = MOVING_ACCOUNTS;
  const first = [...new Map(copies.toReversed().map((copy) => [copy.detail.id, copy])).values()];
  const of = (type: string, account?: string) =>
    first.filter(
      (copy) => copy.type === type && (account ?? copy.detail.account_id) === copy.detail.account_id,
    );
  const lists = moving?.services[to].sent.filter(
    ({ path, atMs }) => path === '/projects' && atMs >= moving.movesAtMs,
  );
  const inVain = of('Project Unreachable').filter(({ atMs, detail }) => {
    const seen = lists?.filter((list) => list.atMs < atMs - 2 * MINUTE_MS) ?? [];
    return detail.account_id === to || seen.length > 1;
  });
  const wasNews = of('Project Discovered', to);
  const transfers = of('Project Transferred');
  return [
    ...(transfers.length === 1 ? [] : [`It was told ${transfers.length} times that the project has moved.`]),
    ...inVain.map(({ detail }) => `It was told that ${detail.account_id} cannot reach the project.`),
    ...wasNews.map(() => `It was told that ${to} has discovered the project, and it had come from ${from}.`),
  ];
}
