/** Words an alert: what happened, what to do, and where to look. The channels only lay the words out. */

import { alikeWords, usualCountWords } from '../../../shared/alerts/common-cause.ts';
import type { DegradedReason } from '../../../shared/records/journal-entries.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { HIDDEN_MARK, withoutSecretShapes } from '../../../shared/runtime/secret.ts';
import type { Notice, NoticeKind } from './notice.ts';

export interface AlertLinks {
  /** The bridge's console is at this address. Without it an alert shows ids and no links to their pages. */
  readonly consoleBaseUrl?: string | undefined;
  readonly runbookUrl?: string | undefined;
  /** Times stand in this zone (a name of the IANA database) where a channel cannot ask its reader. Without it they are in UTC. */
  readonly timeZone?: string | undefined;
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
  stall_ended: {
    title: 'Operation ended after taking too long',
    meaning: 'It is not open any more; its status says how it ended. There is nothing to do.',
  },
  vanished: {
    title: 'Operation vanished',
    meaning: 'It disappeared while it was open; its outcome is not known. Check the project.',
  },
  cancelled: {
    title: 'Operation cancelled after failing',
    meaning: 'It ended without success and will not be retried. Nothing else is known to be wrong.',
  },
  moved: {
    title: 'Project moved to another account',
    meaning:
      'The operation had failed here. It goes on there, and what becomes of it is told of that account.',
  },
  project_gone: {
    title: 'Project of the operation is gone',
    meaning:
      'It was deleted a day ago, or the key may no longer see it. If that was meant, there is nothing to do.',
  },
  reminder: {
    title: 'Still failing',
    meaning: 'It was reported before, and its end has not been seen since.',
  },
  digest: {
    title: 'Failures that ended by themselves',
    meaning: 'They ended before anybody had to be notified. There is nothing to do.',
  },
  first_sight: {
    title: 'The bridge watches this account',
    meaning: 'Every project was read once. Alerts are about what fails from now on.',
  },
  usage: {
    title: 'Budget nearly used',
    meaning: 'When all of it is used, the service suspends the computes of the project until it resets.',
  },
  acknowledged: {
    title: 'Incident acknowledged',
    meaning: 'A person takes care of it. Further failures of it wake nobody until it ends or gets worse.',
  },
  muted_all: {
    title: 'All alerts are muted',
    meaning:
      'Alerts of this account wait until the mute ends. Lift it on the page of the mutes if that was not meant.',
  },
  channel_deaf: {
    title: 'Alert channel takes no messages',
    meaning:
      'Its alerts are kept and sent when it works again. Until then they reach people on other channels only.',
  },
  channel_back: {
    title: 'Alert channel works again',
    meaning: 'Everything that it had missed is being sent to it.',
  },
  approval_wanted: {
    title: 'Approval wanted',
    meaning: 'A caller must not do this without a person. Nothing is done yet: approve or deny it.',
  },
  approval_ended: {
    title: 'Approval decided',
    meaning: 'Nothing was done, and nothing will be. Whoever asked may ask anew.',
  },
  unreadable: {
    title: 'An event could not be read whole',
    meaning:
      'This alert says what could be read of it. Look at the event on the bus, and upgrade the bridge if it is older.',
  },
  recovered: { title: 'Operation recovered', meaning: 'It finished after failing. There is nothing to do.' },
  account_degraded: {
    title: 'Account cannot be read',
    meaning: 'Events are late until this ends. Nothing is lost.',
  },
  account_recovered: {
    title: 'Account can be read again',
    meaning: 'What happened meanwhile is being read now.',
  },
};

/** A budget is said to be used up like this. */
const USED_UP: Words = {
  title: 'Budget used up',
  meaning: 'The service suspends the computes of the project until it resets, or until its quota is raised.',
};

/** At a limit of the configuration, the service does nothing. */
const OWN_LIMIT = 'This limit is of the bridge alone, and nothing is suspended at it.';

/** A digest says this when nothing has healed. */
const HELD_BACK: Words = {
  title: 'Alerts that were held back',
  meaning: 'People have muted or acknowledged what they are about.',
};

export function saysOnlyHeldBack({ healed }: Notice): boolean {
  return healed?.operation_count === 0;
}

export const KEY_REJECTED: DegradedReason = 'key_rejected';

export function titleOf(notice: Notice): string {
  const { kind, has_ended, is_test } = notice;
  const isUsedUp = (notice.usage?.percent ?? 0) >= 100;
  const { title } = saysOnlyHeldBack(notice) ? HELD_BACK : isUsedUp ? USED_UP : WORDS[kind];
  if (is_test) return `Test: ${title}`;
  return has_ended ? `${title} (it has ended since)` : title;
}

export function meaningOf(notice: Notice): string {
  const { kind, reason, has_ended, unread, is_test } = notice;
  if (is_test) return 'A person sent this to try the channel. Nothing has happened.';
  if (saysOnlyHeldBack(notice)) return HELD_BACK.meaning;
  if (has_ended)
    return 'This came late: the end of the operation was reported before. There is nothing to do.';
  if (unread === 'newer_schema' && kind !== 'unreadable')
    return `${WORDS[kind].meaning} The event is of a newer version than this notifier.`;
  if (notice.usage !== undefined && notice.usage.limit_from !== 'quota') return OWN_LIMIT;
  if ((notice.usage?.percent ?? 0) >= 100) return USED_UP.meaning;
  if (kind === 'approval_ended' && notice.status === 'approved')
    return 'It is sent when the commands before it have ended.';
  if (kind === 'channel_deaf') return `${WORDS[kind].meaning} Test it: ${testCommandOf(notice)}`;
  if (kind !== 'account_degraded') return WORDS[kind].meaning;
  const advice =
    reason === KEY_REJECTED
      ? 'Put a valid key into the secret of the account, or run "operations-bridge accounts set" with --key-env.'
      : 'The upstream does not answer, or the key cannot be read from its secret.';
  return `${advice} ${WORDS[kind].meaning}`;
}

function testCommandOf({ channel = 'slack' }: Notice): string {
  return `operations-bridge alerts --sample failed --to ${/^[a-z]{1,20}$/.test(channel) ? channel : 'slack'}`;
}

export interface Fact {
  readonly label: string;
  readonly value: string;
  /**
   * A time in ISO 8601 can be shown in the zone of its reader. Words are the bridge's own, and so need no quoting. Any other value
   * comes from outside.
   */
  readonly form?: 'time' | 'words';
}

export function factsOf(notice: Notice): readonly Fact[] {
  if (notice.healed !== undefined)
    return [...digestFactsOf(notice.healed, notice.since), ...heldBackFactsOf(notice.held_back)];
  const attempts = notice.failures_count ? `${notice.failures_count} failed` : undefined;
  const open = notice.open_ms === undefined ? undefined : `${Math.round(notice.open_ms / 60_000)} min`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Project', projectWords(notice)],
    ['Action', notice.action],
    ['Status', notice.status],
    ['Attempts', attempts],
    ['Branch', notice.branch_id],
    ['Compute', notice.endpoint_id],
    ['Open for', open],
    ['Usually', usualWords(notice)],
    ['Last hour', lastHourWords(notice)],
    ['Alike', notice.alike && alikeWords(notice.alike)],
    ['Alike from', notice.alike?.since],
    ['Since', notice.since ?? (notice.kind === 'account_degraded' ? notice.observed_at : undefined)],
    ['Started by', notice.client_id],
    ['Used', notice.usage && `${usedWords(notice.usage)} ${METRIC_WORDS[notice.usage.metric] ?? ''}`.trim()],
    ['Resets', notice.usage?.resets_at],
    ['By', notice.acknowledged_by],
    ['Projects', notice.found && String(notice.found.project_count)],
    ['Failing', notice.found && `${counted(notice.found.failing_count, 'operation')} at present`],
    ['Waiting', notice.waiting_count === undefined ? undefined : counted(notice.waiting_count, 'alert')],
    ['Muted until', notice.muted_until],
    ['Channel', notice.channel],
    ['Answer', notice.channel === undefined ? undefined : notice.reason],
    ['Account', notice.channel === undefined ? notice.account_id : undefined],
    ['Operation', notice.operation_id],
  ];
  return notice.approval_id === undefined ? factsIn(facts) : approvalFactsOf(notice);
}

function approvalFactsOf(notice: Notice): readonly Fact[] {
  return factsIn([
    ['Request', notice.request],
    ['Project', projectWords(notice)],
    ['Asked by', notice.client_id],
    ['Until', notice.kind === 'approval_wanted' ? notice.expires_at : undefined],
    ['Decided by', notice.decided_by],
    ['Reason', notice.reason],
    ['Account', notice.account_id],
    ['Approval', notice.approval_id],
  ]);
}

function factsIn(facts: readonly (readonly [string, string | undefined])[]): readonly Fact[] {
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [factOf(label, value)]));
}

const OWN_WORDS: ReadonlySet<string> = new Set([
  'Attempts',
  'Open for',
  'Usually',
  'Last hour',
  'Alike',
  'Used',
  'Projects',
  'Failing',
  'Not sent',
  'Muted',
  'Waiting',
]);

const TIMES: ReadonlySet<string> = new Set([
  'Since',
  'Alike from',
  'First ends',
  'Muted until',
  'Resets',
  'Until',
]);

function factOf(label: string, value: string): Fact {
  if (TIMES.has(label)) return { label, value, form: 'time' };
  return OWN_WORDS.has(label) ? { label, value, form: 'words' } : { label, value };
}

/** Returns a text such as `shop (solitary-cell-58208823)`: people know the name, and calls take the id. */
function projectWords({ project_id, project_name }: Notice): string | undefined {
  return project_id === undefined || project_name === undefined
    ? project_id
    : `${project_name} (${project_id})`;
}

/** Returns a text such as `1.2 s, 99 of 100 within 9.4 s`. */
function usualWords({ usual_duration: usual }: Notice): string | undefined {
  return usual && `${durationWords(usual.p50_ms)}, 99 of 100 within ${durationWords(usual.p99_ms)}`;
}

export const METRIC_WORDS: Readonly<Partial<Record<string, string>>> = {
  active_time_seconds: 'active time',
  compute_time_seconds: 'compute time',
};

/** Returns a text such as `90.1 of 100 h`. A small budget is shown in minutes. */
export function usedWords({ used, limit }: Pick<NonNullable<Notice['usage']>, 'used' | 'limit'>): string {
  const [unit, seconds] = limit < 7_200 ? ['min', 60] : ['h', 3_600];
  const inUnits = (value: number) => Math.round((value / seconds) * 10) / 10;
  return `${inUnits(used)} of ${inUnits(limit)} ${unit}`;
}

/** Returns a text such as `4 failed attempts`. */
function lastHourWords({ last_hour }: Notice): string | undefined {
  if (last_hour === undefined) return undefined;
  const { attempt_count, is_least } = last_hour;
  return `${is_least ? 'at least ' : ''}${counted(attempt_count, 'failed attempt')}`;
}

export interface CommonCause {
  readonly action: string;
  readonly project_count: number;
  /** ISO 8601. */
  readonly since: string;
  /** A phrase such as `usually about 2`. */
  readonly usual: string;
}

/** Returns the actions of which the service is the probable cause, each once. */
export function commonCausesOf(notices: readonly Notice[]): readonly CommonCause[] {
  const causes = notices.flatMap(({ account_id, action = '', alike }) => {
    if (!alike?.is_service) return [];
    const { project_count, since, usual_count = 0 } = alike;
    const cause = { action, since, project_count: project_count + 1, usual: usualCountWords(usual_count) };
    return [[`${account_id} ${action}`, cause] as const];
  });
  return [...new Map(causes).values()];
}

/** Returns a text such as `16 Jan 2026, 22:02:41 CET`. A text that is no time stays as it is. */
export function zonedTime(text: string, { timeZone = 'UTC' }: AlertLinks): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return text;
  const parts = {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  } as const;
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone, timeZoneName: 'short' }).format(ms);
}

export function durationWords(durationMs: number): string {
  if (durationMs < 1_000) return `${durationMs} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1_000).toFixed(durationMs < 10_000 ? 1 : 0)} s`;
  return durationMs < 7_200_000
    ? `${Math.round(durationMs / 60_000)} min`
    : `${Math.round(durationMs / 3_600_000)} h`;
}

function digestFactsOf(
  { operation_count, last_operation_count, by_action }: NonNullable<Notice['healed']>,
  since: string | undefined,
): readonly Fact[] {
  return [
    ...(operation_count === 0
      ? []
      : [{ label: 'Operations', value: String(operation_count), form: 'words' } as const]),
    ...(last_operation_count === undefined
      ? []
      : [{ label: 'Before', value: `${last_operation_count} in the digest before`, form: 'words' } as const]),
    ...(since === undefined ? [] : [factOf('Since', since)]),
    ...by_action.map((one) => ({
      label: 'Action',
      value: `${one.operation_count} x ${one.action}, ${counted(one.attempt_count, 'failed attempt')}`,
    })),
  ];
}

function heldBackFactsOf(heldBack: Notice['held_back']): readonly Fact[] {
  const { acknowledged_count = 0, muted } = heldBack ?? {};
  return [
    ...(acknowledged_count === 0
      ? []
      : [factOf('Not sent', `${counted(acknowledged_count, 'alert')} of acknowledged incidents`)]),
    ...(muted === undefined
      ? []
      : [factOf('Muted', mutedWords(muted)), factOf('First ends', muted.first_until)]),
  ];
}

function mutedWords({
  alert_count,
  incident_count,
}: NonNullable<NonNullable<Notice['held_back']>['muted']>): string {
  return `${counted(alert_count, 'alert')} of ${counted(incident_count, 'incident')} ${alert_count === 1 ? 'waits' : 'wait'}`;
}

/** The upstream makes ids like this. Any other id gets no link, because its link could lie or break the message. */
const PLAIN_ID = /^[A-Za-z0-9_-]{1,80}$/;

/** Returns the page of the operation, of the account when the notice is about no operation, or of what waits for a person. */
export function operationUrl(notice: Notice, { consoleBaseUrl }: AlertLinks): string | undefined {
  const { account_id, project_id, operation_id, kind, channel } = notice;
  const isPlain = (id = '') => PLAIN_ID.test(id) && withoutSecretShapes(id, HIDDEN_MARK) === id;
  if (consoleBaseUrl === undefined || !isPlain(account_id) || channel !== undefined) return undefined;
  const account = `${consoleBaseUrl}/console/accounts/${account_id}`;
  if (ABOUT_ACCOUNT.has(kind) || (kind === 'usage' && project_id === undefined)) return account;
  if (kind === 'usage') return isPlain(project_id) ? `${account}/projects/${project_id}` : undefined;
  if (kind === 'approval_wanted') return `${consoleBaseUrl}/console/approvals`;
  if (!isPlain(project_id) || !isPlain(operation_id)) return undefined;
  return `${account}/projects/${project_id}/operations/${operation_id}`;
}

const ABOUT_ACCOUNT: ReadonlySet<NoticeKind> = new Set([
  'account_degraded',
  'account_recovered',
  'first_sight',
  'muted_all',
]);

/** Returns a text such as `12 x Operation failed, 1 x Operation recovered`, and how many of them a mute kept back. */
export function countsOf(notices: readonly Notice[]): string {
  const counts = new Map<string, number>();
  for (const notice of notices) counts.set(titleOf(notice), (counts.get(titleOf(notice)) ?? 0) + 1);
  const mutedCount = notices.filter(({ was_muted }) => was_muted).length;
  const text = [...counts].map(([title, count]) => `${count} x ${title}`).join(', ');
  return mutedCount === 0 ? text : `${text}; a mute kept ${mutedCount} of them back`;
}
