/** The words of an alert: what happened, what to do, and where to look; the channels only lay them out. */

import type { Notice, NoticeKind, Severity } from './notice.ts';

export interface AlertLinks {
  /** Of the bridge's pages; without it an alert names ids only. */
  readonly consoleBaseUrl?: string | undefined;
  readonly runbookUrl?: string | undefined;
}

interface Words {
  readonly title: string;
  readonly meaning: string;
}

const WORDS: Record<NoticeKind, Words> = {
  failed: { title: 'Operation failed', meaning: 'It may still be retried; the bridge keeps watching it.' },
  given_up: {
    title: 'Operation failed and given up',
    meaning: 'No retry will come. Repeat the command, or ask the service for help with the operation id.',
  },
  attempt_failed: {
    title: 'An attempt failed',
    meaning: 'The operation goes on: the failed attempt came and went between two reads.',
  },
  stalled: {
    title: 'Operation takes too long',
    meaning: 'It is still open. Look whether other operations of the project wait for it.',
  },
  vanished: {
    title: 'Operation vanished',
    meaning: 'It disappeared while it was open; its outcome is not known. Check the project.',
  },
  recovered: { title: 'Operation recovered', meaning: 'It finished after failing. Nothing to do.' },
  account_degraded: {
    title: 'Account cannot be read',
    meaning: 'Events are late until this ends. Nothing is lost.',
  },
  account_recovered: {
    title: 'Account can be read again',
    meaning: 'What happened meanwhile is being read now.',
  },
};

export function titleOf({ kind }: Notice): string {
  return WORDS[kind].title;
}

export function meaningOf({ kind, reason }: Notice): string {
  if (kind !== 'account_degraded') return WORDS[kind].meaning;
  const advice =
    reason === 'key_rejected'
      ? 'The key is rejected: put a valid one into the secret.'
      : 'The upstream does not answer.';
  return `${advice} ${WORDS[kind].meaning}`;
}

export interface Fact {
  readonly label: string;
  readonly value: string;
}

export function factsOf(notice: Notice): readonly Fact[] {
  const attempts = notice.failures_count === undefined ? undefined : `${notice.failures_count} failed`;
  const open = notice.open_ms === undefined ? undefined : `${Math.round(notice.open_ms / 60_000)} min`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Project', notice.project_id],
    ['Action', notice.action],
    ['Status', notice.status],
    ['Attempts', attempts],
    ['Branch', notice.branch_id],
    ['Compute', notice.endpoint_id],
    ['Open for', open],
    ['Since', notice.since],
    ['Started by', notice.client_id],
    ['Account', notice.account_id],
    ['Operation', notice.operation_id],
  ];
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }]));
}

/** Ids as the upstream makes them; anything else would make a link that lies or breaks the message, so it gets none. */
const PLAIN_ID = /^[A-Za-z0-9_-]{1,80}$/;

export function operationUrl(notice: Notice, { consoleBaseUrl }: AlertLinks): string | undefined {
  const { account_id, project_id = '', operation_id = '' } = notice;
  const hasPage = [account_id, project_id, operation_id].every((id) => PLAIN_ID.test(id));
  if (consoleBaseUrl === undefined || !hasPage) return undefined;
  return `${consoleBaseUrl}/console/accounts/${account_id}/projects/${project_id}/operations/${operation_id}`;
}

const RANK: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };

export function worstOf(notices: readonly Notice[]): Severity {
  return notices.reduce<Severity>(
    (worst, { severity }) => (RANK[severity] > RANK[worst] ? severity : worst),
    'info',
  );
}

/** `12 x Operation failed, 1 x Operation recovered`. */
export function countsOf(notices: readonly Notice[]): string {
  const counts = new Map<string, number>();
  for (const notice of notices) counts.set(titleOf(notice), (counts.get(titleOf(notice)) ?? 0) + 1);
  return [...counts].map(([title, count]) => `${count} x ${title}`).join(', ');
}

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return RANK[severity] >= RANK[least];
}
