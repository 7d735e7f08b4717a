/**
 * Renders a message as Slack's Block Kit, within the lengths that Slack allows, with the buttons Acknowledge, Mute
 * and Open. All text from outside stands in code spans, where it has no effect.
 */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/alert-items.ts';
import type { SlackAction, SlackBot, SlackButtonValue } from '../../../shared/alerts/slack-app.ts';
import type { Care } from '../deciding/care.ts';
import { incidentCountOf, type Message } from '../deciding/message-plan.ts';
import type { Notice, Severity } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { latestOfEach } from '../deciding/waking.ts';
import { cleanText, ERROR_CHARACTERS_MAX, slackCode, VALUE_CHARACTERS_MAX } from '../wording/clean-text.ts';
import { headlineOf, headlineOfMany, headlineWithError } from '../wording/headline.ts';
import {
  type AlertLinks,
  type CommonCause,
  commonCausesOf,
  countsOf,
  type Fact,
  factsOf,
  meaningOf,
  operationUrl,
  titleOf,
} from '../wording/wording.ts';

/** A section takes 3,000 characters (Block Kit reference, "Section block"). */
const SECTION_CHARACTERS_MAX = 2_900;

/** A section takes 10 fields (Block Kit reference, "Section block"). */
const FIELDS_MAX = 10;

export function section(text: string): object {
  return { type: 'section', text: markdown(text) };
}

/** `verbatim` keeps Slack from turning parts of the text into links, channels or mentions. */
export function markdown(text: string): object {
  return { type: 'mrkdwn', text, verbatim: true };
}

/** Joins lines into as few texts as sections can take. */
function inSections(lines: readonly string[]): readonly string[] {
  const sections: string[] = [];
  for (const line of lines) {
    const last = sections.at(-1);
    if (last === undefined || last.length + line.length + 1 > SECTION_CHARACTERS_MAX) sections.push(line);
    else sections[sections.length - 1] = `${last}\n${line}`;
  }
  return sections;
}

/**
 * Returns a time that Slack shows in the zone of its reader (Slack API documentation, "Date formatting"). Where Slack
 * cannot, it shows the time in UTC. A text that is no time is shown as it is.
 */
export function slackTime(text: string): string {
  const seconds = Math.floor(Date.parse(text) / 1_000);
  if (Number.isNaN(seconds)) return slackCode(text, VALUE_CHARACTERS_MAX);
  const utc = new Date(seconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  return `<!date^${seconds}^{date_short_pretty} {time_secs}|${utc} UTC>`;
}

/** Returns the block of buttons under an alert, and none when there is nothing to press. */
export type Buttons = (notice: Notice, care?: Care) => readonly object[];

export const NO_BUTTONS: Buttons = () => [];

/**
 * Returns the buttons of a bot. It has them only when Slack can sign a press, and reach the API: a bridge on this
 * machine has no address on the internet.
 */
export function buttonsFor({ signing_secret }: SlackBot, links: AlertLinks): Buttons {
  const isReachable = links.consoleBaseUrl?.startsWith('https://') ?? false;
  return signing_secret !== undefined && isReachable
    ? (notice, care = {}) => buttonsOf(notice, care, links)
    : NO_BUTTONS;
}

/** What a person has done already needs no button. */
function buttonsOf(notice: Notice, care: Care, links: AlertLinks): readonly object[] {
  const url = operationUrl(notice, links);
  const open = url === undefined ? [] : [{ ...button('open', 'Open', notice), url }];
  const elements = [
    ...(isActionable(notice) && care.acknowledged === undefined
      ? [{ ...button('acknowledge', 'Acknowledge', notice), style: 'primary' }]
      : []),
    ...(isActionable(notice) && care.muted === undefined ? [button('mute_1h', 'Mute 1 h', notice)] : []),
    ...open,
  ];
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

/** Good news needs no person, a channel is no incident that can be acknowledged, and a test is about nothing. */
function isActionable({ severity, channel, is_test }: Notice): boolean {
  return severity !== 'info' && channel === undefined && !is_test;
}

function button(action: SlackAction, text: string, notice: Notice): object {
  const value: SlackButtonValue = {
    account_id: notice.account_id,
    incident_id: incidentIdOf(incidentOf(notice)),
  };
  return {
    type: 'button',
    action_id: action,
    text: { type: 'plain_text', text },
    value: JSON.stringify(value),
  };
}

export interface SlackMessage {
  /** Notifications and screen readers show this text. */
  readonly text: string;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly attachments: readonly [{ readonly color: string; readonly blocks: readonly object[] }];
}

const COLOURS: Record<Severity, string> = { critical: '#b3261e', warning: '#d98c00', info: '#2e7d32' };

/** Operations of one incident share a line, so a message with ids of the usual length names about this many. */
export const SLACK_NOTICES_MAX = 250;

/** Slack takes some 13,000 characters of blocks in one message. The head of the message has room above this. */
export const SLACK_CHARACTERS_MAX = 12_000;

/** An operation stands in one line, with its latest state. */
export function renderSlack(all: Message, links: AlertLinks, buttons: Buttons = NO_BUTTONS): SlackMessage {
  const message = latestOfEach(all);
  const notices = message.flat();
  const [first] = notices;
  const isSingle = notices.length === 1 && first !== undefined;
  const own = incidentCountOf(message) === 1 && first !== undefined ? buttons(first) : [];
  const blocks = isSingle
    ? cardBlocks(first, { title: headlineOf(first, slackCode), links, buttons: own })
    : [...digestBlocks(message, links), ...own];
  return slackMessage(
    isSingle ? headlineWithError(first, slackCode) : headlineOfMany(notices, slackCode),
    worstOf(notices),
    blocks,
  );
}

export function slackMessage(text: string, severity: Severity, blocks: readonly object[]): SlackMessage {
  return {
    text,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{ color: COLOURS[severity], blocks }],
  };
}

/**
 * Renders one line of words and ids without blocks, which is sent when Slack refuses the blocks. It names every
 * operation.
 */
export function plainSlack(message: Message): { readonly text: string } {
  const notices = latestOfEach(message).flat();
  const head = `${notices.length} alerts: `;
  const full = notices.map((notice) => `${headlineOf(notice, slackCode)} ${idCode(notice)}`).join(', ');
  if (head.length + full.length <= PLAIN_CHARACTERS_MAX) return { text: `${head}${full}` };
  return { text: `${head}${countsOf(notices)}. Operations: ${notices.map(plainId).join(' ')}` };
}

/** Returns the id without escapes, which it does not need, so that even 250 ids are short. */
function plainId({ operation_id, account_id }: Notice): string {
  return cleanText(operation_id ?? account_id, 60).replaceAll(/[^\w.:-]/g, '?');
}

/** Slack truncates a message's text at 40,000 characters. */
const PLAIN_CHARACTERS_MAX = 39_000;

interface CardParts {
  readonly title: string;
  readonly links: AlertLinks;
  readonly buttons: readonly object[];
  /** These stand between the card and its buttons. */
  readonly lines?: readonly object[];
  /** This stands in the last line, before the links. */
  readonly remark?: string;
}

export function cardBlocks(
  notice: Notice,
  { title, links, buttons, lines = [], remark }: CardParts,
): readonly object[] {
  const fields = factsOf(notice)
    .slice(0, 2 * FIELDS_MAX)
    .map(field);
  const footer = [...(remark === undefined ? [] : [remark]), ...linksOf(notice, links, buttons.length > 0)];
  return [
    section(`*${title}*\n${meaningOf(notice)}`),
    ...(notice.error === undefined
      ? []
      : [section(`*Error*\n${slackCode(notice.error, ERROR_CHARACTERS_MAX)}`)]),
    { type: 'section', fields: fields.slice(0, FIELDS_MAX) },
    ...(fields.length > FIELDS_MAX ? [{ type: 'section', fields: fields.slice(FIELDS_MAX) }] : []),
    ...lines,
    ...buttons,
    ...(footer.length === 0 ? [] : [{ type: 'context', elements: [markdown(footer.join('   '))] }]),
  ];
}

function field({ label, value, form }: Fact): object {
  const shown = {
    time: () => slackTime(value),
    words: () => value,
    outside: () => slackCode(value, VALUE_CHARACTERS_MAX),
  }[form ?? 'outside']();
  return markdown(`*${label}*\n${shown}`);
}

/** A button opens the operation as well, so it needs no link beside it. */
function linksOf(notice: Notice, links: AlertLinks, hasButtons: boolean): readonly string[] {
  const url = hasButtons ? undefined : operationUrl(notice, links);
  return [
    ...(url === undefined ? [] : [`<${url}|Open in the console>`]),
    ...(links.runbookUrl === undefined ? [] : [`<${links.runbookUrl}|Runbook>`]),
  ];
}

/** Returns what the notice adds to a message of many when it follows `before`, in characters. */
export function slackCharactersOf(notice: Notice, before: Notice | undefined): number {
  if (continues(notice, before)) return shortId(notice).length + 1;
  return compactLine([notice], before).length + 1;
}

/** A link doubles the length of a line, so messages of more notices than this show ids without links. */
const LINKED_NOTICES_MAX = 20;

function digestBlocks(message: Message, links: AlertLinks): readonly object[] {
  const notices = message.flat();
  const incidentCount = incidentCountOf(message);
  const lines =
    notices.length > LINKED_NOTICES_MAX
      ? compactLines(notices)
      : notices.map((one) => digestLine(one, links));
  const ofIncidents = incidentCount === 1 ? 'one incident' : `${incidentCount} incidents`;
  const head = [
    `*${notices.length} alerts of ${ofIncidents}*: ${countsOf(notices)}`,
    ...commonCausesOf(notices).map(causeLine),
  ];
  return [section(head.join('\n')), ...inSections(lines).map(section)];
}

function causeLine({ action, project_count, since, usual }: CommonCause): string {
  return `*Probably the service*: ${slackCode(action, 40)} fails in ${project_count} projects since ${slackTime(since)} (${usual}).`;
}

/**
 * Puts operations of one incident and kind into one line while a section has room. What happened stands above the
 * first of them.
 */
function compactLines(notices: readonly Notice[]): readonly string[] {
  const groups: Notice[][] = [];
  let characterCount = 0;
  for (const notice of notices) {
    const last = groups.at(-1);
    const idCharacters = shortId(notice).length + 1;
    const hasRoom = characterCount + idCharacters < SECTION_CHARACTERS_MAX - LINE_HEAD_CHARACTERS;
    if (last !== undefined && hasRoom && continues(notice, last.at(-1))) last.push(notice);
    else groups.push([notice]);
    characterCount = groups.at(-1)?.length === 1 ? idCharacters : characterCount + idCharacters;
  }
  return groups.map((group, place) => compactLine(group, groups[place - 1]?.[0]));
}

/** A title and a place need at most this room, even if every character is escaped. */
const LINE_HEAD_CHARACTERS = 700;

function compactLine(notices: readonly Notice[], before: Notice | undefined): string {
  const [first] = notices;
  if (first === undefined) return '';
  const title = before !== undefined && titleOf(before) === titleOf(first) ? '' : `*${titleOf(first)}*\n`;
  return `${title}${placeInDigest(first)} \`${notices.map(shortId).join(' ')}\``;
}

function continues(notice: Notice, before: Notice | undefined): boolean {
  return (
    before !== undefined &&
    titleOf(before) === titleOf(notice) &&
    before.severity === notice.severity &&
    incidentOf(before) === incidentOf(notice)
  );
}

function digestLine(notice: Notice, links: AlertLinks): string {
  const url = operationUrl(notice, links);
  const operation = notice.operation_id === undefined ? '' : ` ${idCode(notice)}`;
  const link = url === undefined ? '' : ` <${url}|open>`;
  return `${headlineWithError(notice, slackCode)}${operation}${link}`;
}

/** Many operations of an incident stand in one line, which names their project and action once. */
function placeInDigest({ project_id, project_name = project_id, action = '', ...notice }: Notice): string {
  const place =
    project_name === undefined
      ? notice.account_id
      : `${cleanText(project_name, 60)} ${cleanText(action, 40)}`;
  return slackCode(place, 102);
}

function idCode({ operation_id }: Notice): string {
  return slackCode(operation_id ?? '', 40);
}

/** Returns the id without the marks of a code span, so that it can stand in one with others. */
function shortId(notice: Notice): string {
  return idCode(notice).slice(1, -1);
}
