/** Renders a message as Slack's Block Kit. All text from outside stands in code spans, where it has no effect. */

import { latestOfEach } from '../../deciding/messages/latest-of-each.ts';
import { incidentCountOf, type Message } from '../../deciding/messages/message-plan.ts';
import type { Notice, Severity } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import {
  cleanText,
  ERROR_CHARACTERS_MAX,
  slackCode,
  VALUE_CHARACTERS_MAX,
} from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  countsOf,
  type Fact,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  titleOf,
} from '../../wording/wording.ts';
import { FIELDS_MAX, header, markdown, section, slackTime } from './slack-blocks.ts';
import { type Buttons, NO_BUTTONS } from './slack-buttons.ts';
import { digestBlocks, idCode } from './slack-digest.ts';

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
    ? cardBlocks(first, { title: titleOf(first), links, buttons: own })
    : [...digestBlocks(message, links), ...own];
  return slackMessage(
    isSingle ? summaryLine(first) : `${notices.length} alerts: ${countsOf(notices)}`,
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
  const full = notices.map((notice) => `${summaryLine(notice)} ${idCode(notice)}`).join(', ');
  if (head.length + full.length <= PLAIN_CHARACTERS_MAX) return { text: `${head}${full}` };
  return { text: `${head}${countsOf(notices)}. Operations: ${notices.map(plainId).join(' ')}` };
}

/** Returns the id without escapes, which it does not need, so that even 250 ids are short. */
function plainId({ operation_id, account_id }: Notice): string {
  return cleanText(operation_id ?? account_id, 60).replaceAll(/[^\w.:-]/g, '?');
}

/** Slack truncates a message's text at 40,000 characters. */
const PLAIN_CHARACTERS_MAX = 39_000;

function summaryLine(notice: Notice): string {
  return `${titleOf(notice)}: ${placeCode(notice)}`;
}

export function placeCode(notice: Notice): string {
  return slackCode(placeOf(notice), VALUE_CHARACTERS_MAX);
}

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
    header(title),
    section(meaningOf(notice)),
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
    ...(url === undefined ? [] : [`<${url}|Open the operation>`]),
    ...(links.runbookUrl === undefined ? [] : [`<${links.runbookUrl}|Runbook>`]),
  ];
}
