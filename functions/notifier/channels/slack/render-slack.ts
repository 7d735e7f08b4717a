/** Renders a message as Slack's Block Kit. All text from outside stands in code spans, where it has no effect. */

import type { Thread } from '../../deciding/incident.ts';
import type { Message } from '../../deciding/message-plan.ts';
import type { Notice, Severity } from '../../deciding/notice.ts';
import { worstOf } from '../../deciding/severity.ts';
import {
  cleanText,
  ERROR_CHARACTERS_MAX,
  slackCode,
  VALUE_CHARACTERS_MAX,
} from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  countsOf,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  titleOf,
} from '../../wording/wording.ts';
import { FIELDS_MAX, header, markdown, section } from './slack-blocks.ts';
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

export function renderSlack(message: Message, links: AlertLinks): SlackMessage {
  const notices = message.flat();
  const [first] = notices;
  const isSingle = notices.length === 1 && first !== undefined;
  const blocks = isSingle ? cardBlocks(first, links) : digestBlocks(message, links);
  return {
    text: isSingle ? summaryLine(first) : `${notices.length} alerts: ${countsOf(notices)}`,
    unfurl_links: false,
    unfurl_media: false,
    attachments: [{ color: COLOURS[worstOf(notices)], blocks }],
  };
}

/**
 * Renders the head of an incident's thread: how it began, how many notices came since, and how the incident stands
 * now.
 */
export function renderSlackIncident(
  { first, toldCount }: Thread,
  { standing, latest }: { readonly standing: 'failing' | 'given_up' | 'recovered'; readonly latest: Notice },
  links: AlertLinks,
): SlackMessage {
  const head = renderSlack([[first]], links);
  const [{ blocks }] = head.attachments;
  const line = {
    recovered: `*Recovered.* ${toldCount} alerts in all, in the thread.`,
    given_up: `*Ended without success.* ${toldCount} alerts in all, the latest: ${summaryLine(latest)}. All of them are in the thread.`,
    failing: `*${toldCount} alerts so far*, the latest: ${summaryLine(latest)}. All of them are in the thread.`,
  }[standing];
  const color = COLOURS[standing === 'recovered' ? 'info' : worstOf([first, latest])];
  return { ...head, attachments: [{ color, blocks: [...blocks, section(line)] }] };
}

/**
 * Renders one line of words and ids without blocks, which is sent when Slack refuses the blocks. It names every
 * notice.
 */
export function plainSlack(message: Message): { readonly text: string } {
  const notices = message.flat();
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
  return `${titleOf(notice)}: ${slackCode(placeOf(notice), VALUE_CHARACTERS_MAX)}`;
}

function cardBlocks(notice: Notice, links: AlertLinks): readonly object[] {
  const facts = factsOf(notice).slice(0, 2 * FIELDS_MAX);
  const fields = facts.map(({ label, value }) =>
    markdown(`*${label}*\n${slackCode(value, VALUE_CHARACTERS_MAX)}`),
  );
  const footer = linksLine(notice, links);
  return [
    header(titleOf(notice)),
    { type: 'section', fields: fields.slice(0, FIELDS_MAX) },
    ...(fields.length > FIELDS_MAX ? [{ type: 'section', fields: fields.slice(FIELDS_MAX) }] : []),
    ...(notice.error === undefined
      ? []
      : [section(`*Error*\n${slackCode(notice.error, ERROR_CHARACTERS_MAX)}`)]),
    section(meaningOf(notice)),
    ...(footer === '' ? [] : [{ type: 'context', elements: [markdown(footer)] }]),
  ];
}

function linksLine(notice: Notice, links: AlertLinks): string {
  const url = operationUrl(notice, links);
  return [
    ...(url === undefined ? [] : [`<${url}|Open the operation>`]),
    ...(links.runbookUrl === undefined ? [] : [`<${links.runbookUrl}|Runbook>`]),
  ].join('   ');
}
