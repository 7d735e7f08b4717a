/**
 * Renders a message as Slack's Block Kit, within the lengths that Slack allows, with the buttons Acknowledge, Mute
 * and Open. All text from outside stands in code spans, where it has no effect.
 */

import {
  BUTTON_INCIDENTS_MAX,
  type SlackAction,
  type SlackBot,
} from '../../../shared/alerts/channel-apps.ts';
import { incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import type { Care } from '../deciding/incident-record.ts';
import { incidentCountOf, type Message, type Notice, type Severity } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import {
  cleanText,
  ERROR_CHARACTERS_MAX,
  headlineOf,
  headlineOfMany,
  headlineWithError,
  slackCode,
  VALUE_CHARACTERS_MAX,
} from '../deciding/text.ts';
import { latestOfEach } from '../deciding/waking.ts';
import {
  type AlertLinks,
  type CommonCause,
  commonCausesOf,
  countsOf,
  type Fact,
  factsOf,
  meaningOf,
  operationUrl,
} from '../deciding/wording.ts';

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

type CareOf = (notice: Notice) => Care;

const NO_CARE: CareOf = () => ({});

/** Returns the block of buttons under these alerts, and none when there is nothing to press. */
export type Buttons = (notices: readonly Notice[], careOf: CareOf) => readonly object[];

export const NO_BUTTONS: Buttons = () => [];

/**
 * Returns the buttons of a bot. It has them only when Slack can sign a press, and reach the API: a bridge on this
 * machine has no address on the internet.
 */
export function buttonsFor({ signing_secret }: SlackBot, links: AlertLinks): Buttons {
  const isReachable = links.consoleBaseUrl?.startsWith('https://') ?? false;
  return signing_secret !== undefined && isReachable
    ? (notices, careOf) => buttonsOf(notices, careOf, links)
    : NO_BUTTONS;
}

/** What a person has done already needs no button. Those of several alerts are about all of them that need a person. */
function buttonsOf(notices: readonly Notice[], careOf: CareOf, links: AlertLinks): readonly object[] {
  const [first] = notices;
  if (first?.kind === 'approval_wanted' && notices.length === 1) return approvalButtons(first, links);
  const url = notices.length === 1 && first !== undefined ? operationUrl(first, links) : undefined;
  const actionable = notices.filter((one) => isActionable(one) && one.account_id === first?.account_id);
  const unacknowledged = actionable.filter((one) => careOf(one).acknowledged === undefined);
  const unmuted = actionable.filter((one) => careOf(one).muted === undefined);
  const all = (about: readonly Notice[]) => (new Set(about.map(incidentOf)).size > 1 ? ' all' : '');
  const elements = [
    ...(unacknowledged.length === 0
      ? []
      : [
          {
            ...button('acknowledge', `Acknowledge${all(unacknowledged)}`, unacknowledged),
            style: 'primary',
          },
        ]),
    ...(unmuted.length === 0 ? [] : [button('mute_1h', `Mute${all(unmuted)} 1 h`, unmuted)]),
    ...(url === undefined ? [] : [{ ...button('open', 'Open', notices), url }]),
  ];
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

/** Good news needs no person, a channel, a budget or a question is no incident that can be acknowledged, and a test is about nothing. */
function isActionable({ severity, kind, channel, approval_id, is_test }: Notice): boolean {
  return severity !== 'info' && kind !== 'usage' && (channel ?? approval_id) === undefined && !is_test;
}

function approvalButtons(notice: Notice, links: AlertLinks): readonly object[] {
  const { account_id, approval_id = '' } = notice;
  const value = JSON.stringify({ account_id, approval_id });
  const url = operationUrl(notice, links);
  const elements = [
    { ...labelled('approve', 'Approve', value), style: 'primary' },
    { ...labelled('deny', 'Deny', value), style: 'danger' },
    ...(url === undefined ? [] : [{ ...labelled('open', 'Open', value), url }]),
  ];
  return [{ type: 'actions', elements }];
}

function labelled(action: SlackAction, text: string, value: string): object {
  return { type: 'button', action_id: action, text: { type: 'plain_text', text }, value };
}

function button(action: SlackAction, text: string, notices: readonly Notice[]): object {
  const incident_ids = [...new Set(notices.map((one) => incidentIdOf(incidentOf(one))))];
  const value = {
    account_id: notices[0]?.account_id ?? '',
    incident_ids: incident_ids.slice(0, BUTTON_INCIDENTS_MAX),
  };
  return labelled(action, text, JSON.stringify(value));
}

export interface SlackMessage {
  /** Notifications and screen readers show this text. */
  readonly text: string;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly attachments: readonly [{ readonly color: string; readonly blocks: readonly object[] }];
}

const COLOURS: Record<Severity, string> = { critical: '#b3261e', warning: '#d98c00', info: '#2e7d32' };

/** A message counts this many alerts at most. */
export const SLACK_NOTICES_MAX = 250;

/** Slack takes some 13,000 characters of blocks in one message. The head of the message has room above this. */
export const SLACK_CHARACTERS_MAX = 12_000;

interface SlackParts {
  readonly buttons?: Buttons;
  readonly careOf?: CareOf;
}

/** An operation stands in one line, with its latest state and who takes care of it. */
export function renderSlack(
  all: Message,
  links: AlertLinks,
  { buttons = NO_BUTTONS, careOf = NO_CARE }: SlackParts = {},
): SlackMessage {
  const message = latestOfEach(all);
  const notices = message.flat();
  const [first] = notices;
  const isSingle = notices.length === 1 && first !== undefined;
  const own = buttons(notices, careOf);
  const blocks = isSingle
    ? cardBlocks(first, { title: headlineOf(first, slackCode), links, buttons: own })
    : [...digestBlocks(message, links, careOf), ...own];
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

/** People do not read a longer list in a chat. The console and the mail have all of it. */
const LINES_MAX = 20;

function digestBlocks(message: Message, links: AlertLinks, careOf: CareOf): readonly object[] {
  const notices = message.flat();
  const incidentCount = incidentCountOf(message);
  const ofIncidents = incidentCount === 1 ? 'one incident' : `${incidentCount} incidents`;
  const head = [
    `*${notices.length} alerts of ${ofIncidents}*: ${countsOf(notices)}`,
    ...commonCausesOf(notices).map(causeLine),
  ];
  return [section(head.join('\n')), ...inSections(digestLines(notices, links, careOf)).map(section)];
}

/** Returns the most severe, as far as Slack has room, and how many more there are. */
function digestLines(notices: readonly Notice[], links: AlertLinks, careOf: CareOf): readonly string[] {
  let left = SLACK_CHARACTERS_MAX;
  const lines = notices
    .slice(0, LINES_MAX)
    .map((one) => `${digestLine(one, links)}${careWords(careOf(one))}`);
  const shown = lines.filter((line) => {
    left -= line.length + 1;
    return left >= 0;
  });
  const count = notices.length - shown.length;
  if (count === 0) return shown;
  const where = links.consoleBaseUrl === undefined ? '' : ` <${links.consoleBaseUrl}/console|in the console>`;
  return [...shown, `and ${count} more${where}`];
}

function causeLine({ action, project_count, since, usual }: CommonCause): string {
  return `*Probably the service*: ${slackCode(action, 40)} fails in ${project_count} projects since ${slackTime(since)} (${usual}).`;
}

function digestLine(notice: Notice, links: AlertLinks): string {
  const url = operationUrl(notice, links);
  const operation = notice.operation_id === undefined ? '' : ` ${idCode(notice)}`;
  const link = url === undefined ? '' : ` <${url}|open>`;
  return `${headlineWithError(notice, slackCode)}${operation}${link}`;
}

/** A line has room for a name, but not for a reason. */
function careWords({ acknowledged, muted }: Care): string {
  const name = ({ client_id }: { readonly client_id: string }) => slackCode(client_id, VALUE_CHARACTERS_MAX);
  return [
    ...(acknowledged === undefined ? [] : [`, acknowledged by ${name(acknowledged)}`]),
    ...(muted === undefined ? [] : [`, muted until ${slackTime(muted.until)} by ${name(muted)}`]),
  ].join('');
}

function idCode({ operation_id }: Notice): string {
  return slackCode(operation_id ?? '', 40);
}
