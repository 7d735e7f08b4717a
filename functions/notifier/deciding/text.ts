/**
 * Words the headline of an alert, which is its subject, its push text and its first line: what one reads in three
 * seconds. Makes text from outside safe to show in it: one line without invisible characters and secrets, cut, and
 * escaped as the channel asks.
 */

import { counted } from '../../../shared/runtime/counted.ts';
import { oneLine } from '../../../shared/runtime/foreign-text.ts';
import { HIDDEN_MARK, partToSearch, withoutSecretShapes } from '../../../shared/runtime/secret.ts';
import type { Notice, NoticeKind } from './notice.ts';
import {
  commonCausesOf,
  durationWords,
  KEY_REJECTED,
  METRIC_WORDS,
  saysOnlyHeldBack,
  usedWords,
} from './wording.ts';

/** Makes text from outside safe to show on a channel, and cuts it. */
type Show = (text: string, charactersMax: number) => string;

/** A headline has room for this much of a name, of an action, and of an error. */
const NAME_CHARACTERS_MAX = 64;
const ACTION_CHARACTERS_MAX = 40;
const ERROR_START_CHARACTERS_MAX = 160;

/**
 * Returns what one reads in three seconds: the project's name, the action, what it means, for how long, such as
 * `ledger-production: apply_config given up after 12 min`.
 */
export function headlineOf(notice: Notice, show: Show): string {
  const { project_id, project_name, action, is_test, has_ended } = notice;
  const name = project_name ?? project_id;
  const subject = action === undefined ? '' : `${show(action, ACTION_CHARACTERS_MAX)} `;
  const what = HEADLINES[notice.kind](notice, show);
  const text = name === undefined ? what : `${show(name, NAME_CHARACTERS_MAX)}: ${subject}${what}`;
  return `${is_test ? 'Test: ' : ''}${text}${has_ended ? ' (it has ended since)' : ''}`;
}

/** Returns the headline, and what the upstream says is wrong. */
export function headlineWithError(notice: Notice, show: Show): string {
  const error = notice.error === undefined ? '' : `: ${show(notice.error, ERROR_START_CHARACTERS_MAX)}`;
  return `${headlineOf(notice, show)}${error}`;
}

/** Returns the headline of the worst, which stands first, and how many more there are. A common cause stands for all that have it. */
export function headlineOfMany(notices: readonly Notice[], show: Show): string {
  const [first] = notices;
  if (first === undefined) return '';
  const [cause] = first.alike?.is_service ? commonCausesOf([first]) : [];
  if (cause === undefined) return `${headlineOf(first, show)}${moreWords(notices.length - 1)}`;
  const others = notices.filter(({ action, alike }) => action !== first.action || !alike?.is_service);
  const action = show(cause.action, ACTION_CHARACTERS_MAX);
  return `Probably the service: ${action} fails in ${cause.project_count} projects${moreWords(others.length)}`;
}

function moreWords(count: number): string {
  return count === 0 ? '' : `, and ${count} more`;
}

const HEADLINES: Record<NoticeKind, (notice: Notice, show: Show) => string> = {
  failed: (notice) => `failed${timesWords(notice)}`,
  given_up: (notice) => `given up${afterWords(notice)}`,
  attempt_failed: () => 'had a failed attempt, and goes on',
  stalled: ({ open_ms }) =>
    open_ms === undefined ? 'takes too long' : `is open for ${durationWords(open_ms)}, too long`,
  stall_ended: () => 'ended after taking too long',
  vanished: (notice) => `vanished${afterWords(notice)}, outcome not known`,
  recovered: (notice) => `recovered${afterWords(notice)}`,
  cancelled: () => 'cancelled after failing',
  moved: ({ moved_to = 'another account' }, show) =>
    `goes on in the account ${show(moved_to, NAME_CHARACTERS_MAX)}`,
  project_gone: () => 'ended with its project, which is gone',
  reminder: (notice, show) => {
    const { project_id, channel, account_id } = notice;
    const name = channel === undefined ? show(account_id, NAME_CHARACTERS_MAX) : channelName(notice);
    return `${project_id === undefined ? `${name}: ` : ''}still fails${afterWords(notice)}`;
  },
  digest: (notice) =>
    saysOnlyHeldBack(notice)
      ? `${counted((notice.held_back?.acknowledged_count ?? 0) + (notice.held_back?.muted?.alert_count ?? 0), 'alert')} were held back`
      : endedWords(notice.healed?.operation_count ?? 0),
  first_sight: ({ account_id, found }, show) =>
    `${show(account_id, NAME_CHARACTERS_MAX)} is watched: ${counted(found?.project_count ?? 0, 'project')}, ${counted(found?.failing_count ?? 0, 'failing operation')}`,
  usage: ({ account_id, project_id, usage }, show) =>
    project_id === undefined
      ? `${show(account_id, NAME_CHARACTERS_MAX)}: ${budgetWords(usage, ' of all projects')}`
      : budgetWords(usage),
  acknowledged: ({ acknowledged_by = 'a person' }, show) =>
    `acknowledged by ${show(acknowledged_by, NAME_CHARACTERS_MAX)}`,
  muted_all: ({ account_id, muted_by = 'a person' }, show) =>
    `${show(account_id, NAME_CHARACTERS_MAX)}: all alerts are muted by ${show(muted_by, NAME_CHARACTERS_MAX)}`,
  channel_deaf: (notice, show) =>
    `${channelName(notice)} has taken no alert${forWords(notice)} (${show(notice.reason ?? 'no answer', NAME_CHARACTERS_MAX)})`,
  channel_back: (notice) => `${channelName(notice)} takes alerts again`,
  approval_wanted: ({ client_id = 'a caller' }, show) =>
    `needs a person's approval, asked by ${show(client_id, NAME_CHARACTERS_MAX)}`,
  approval_ended: ({ status = 'decided', decided_by }, show) =>
    `${show(status, NAME_CHARACTERS_MAX)}${decided_by === undefined ? '' : ` by ${show(decided_by, NAME_CHARACTERS_MAX)}`}`,
  unreadable: () => 'had an event that could not be read whole',
  account_degraded: ({ account_id, reason }, show) =>
    `${show(account_id, NAME_CHARACTERS_MAX)}: ${reason === KEY_REJECTED ? 'the service refuses our API key' : 'the account cannot be read'}`,
  account_recovered: ({ account_id }, show) =>
    `${show(account_id, NAME_CHARACTERS_MAX)}: the account can be read again`,
};

/** Returns a phrase such as `90 % of the compute time is used (90.1 of 100 h)`. */
function budgetWords(usage: Notice['usage'], of = ''): string {
  if (usage === undefined) return `a budget${of} is used`;
  const { metric, percent } = usage;
  return `${percent} % of the ${METRIC_WORDS[metric] ?? 'budget'}${of} is used (${usedWords(usage)})`;
}

function endedWords(count: number): string {
  return count === 1 ? '1 failure ended by itself' : `${count} failures ended by themselves`;
}

/** Returns the name of a channel as people write it. */
function channelName({ channel = 'a channel' }: Notice): string {
  return (
    { slack: 'Slack', email: 'E-mail', pagerduty: 'PagerDuty', webhook: 'The webhook' }[channel] ??
    'A channel'
  );
}

function timesWords(notice: Notice): string {
  const { failures_count = 1 } = notice;
  return failures_count < 2 ? '' : ` ${failures_count} times${lastedWords(notice, 'in')}`;
}

const afterWords = (notice: Notice) => lastedWords(notice, 'after');
const forWords = (notice: Notice) => lastedWords(notice, 'for');

/** Returns how long it lasts by the times of the notice, and nothing when they make no sense. */
function lastedWords({ since, changed_at, observed_at }: Notice, word: string): string {
  const durationMs = Date.parse(changed_at ?? observed_at) - Date.parse(since ?? '');
  return durationMs >= 1_000 ? ` ${word} ${durationWords(durationMs)}` : '';
}

const CUT_MARK = ' ... (cut)';

/** A single value in an alert, such as an id or a status, has at most this length. */
export const VALUE_CHARACTERS_MAX = 120;

/** The upstream's error text in an alert has at most this length. */
export const ERROR_CHARACTERS_MAX = 600;

/**
 * Cuts the text at a word and marks the cut. The result has at most `charactersMax` UTF-16 units, the mark included.
 */
export function cleanText(text: string, charactersMax: number): string {
  const open = withoutSecretShapes(partToSearch(text, charactersMax), HIDDEN_MARK);
  const clean = oneLine(open);
  if (clean.length <= charactersMax) return clean;
  const room = clean.slice(0, charactersMax - CUT_MARK.length);
  const lastSpace = room.lastIndexOf(' ');
  // A single long word may be cut anywhere, except inside a character.
  const kept = lastSpace > room.length / 2 ? room.slice(0, lastSpace) : room.replace(/[\uD800-\uDBFF]$/, '');
  return `${kept.trimEnd()}${CUT_MARK}`;
}

/**
 * Returns a code span of Slack, in which nothing is formatting, a mention, an emoji or a link. The escapes are those
 * that Slack asks for.
 */
export function slackCode(text: string, charactersMax: number): string {
  const escaped = cleanText(text, charactersMax)
    .replaceAll('`', "'")
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${escaped === '' ? '-' : escaped}\``;
}

/** Returns plain text for a mail. Mail programs make a link of what looks like one, so its scheme is broken up. */
export function mailText(text: string, charactersMax: number): string {
  return cleanText(
    withoutSecretShapes(partToSearch(text, charactersMax), HIDDEN_MARK)
      .replaceAll('://', ': //')
      .replaceAll(/\bwww\./giu, 'www ')
      .replaceAll(/\bmailto:/giu, 'mailto '),
    charactersMax,
  );
}

/**
 * Returns the subject of a mail. SNS refuses line breaks, control characters, and 100 or more characters (API
 * Reference, "Publish").
 */
export function mailSubject(text: string): string {
  const ascii = cleanText(text, 99).replaceAll(/[^\x20-\x7e]/g, '?');
  return /^[A-Za-z0-9]/.test(ascii) ? ascii : `Alert: ${ascii}`.slice(0, 99);
}
