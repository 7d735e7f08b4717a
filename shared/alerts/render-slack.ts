/** A message as Slack's Block Kit. Everything from outside stands in code spans, where it can do nothing. */

import { cleanText, slackCode } from './clean-text.ts';
import type { Thread } from './incident.ts';
import type { Message } from './message-plan.ts';
import type { Notice, Severity } from './notice.ts';
import { type AlertLinks, countsOf, factsOf, meaningOf, operationUrl, titleOf, worstOf } from './wording.ts';

export interface SlackMessage {
  /** What notifications and screen readers show. */
  readonly text: string;
  readonly unfurl_links: false;
  readonly unfurl_media: false;
  readonly attachments: readonly [{ readonly color: string; readonly blocks: readonly object[] }];
}

const COLOURS: Record<Severity, string> = { critical: '#b3261e', warning: '#d98c00', info: '#2e7d32' };

/** Block Kit: 150 characters of a header, 3,000 of a section's text, 2,000 of a field and 10 fields, 50 blocks. */
const SECTION_CHARACTERS_MAX = 2_900;
const FIELDS_MAX = 10;
const VALUE_CHARACTERS_MAX = 120;
const ERROR_CHARACTERS_MAX = 600;

/** Lines of usual ids are about 100 characters; Slack takes some 13,000 characters of blocks in one message. */
export const SLACK_NOTICES_MAX = 100;

/** Links double the length of a line: a storm's messages name the operations without them. */
const LINKED_NOTICES_MAX = 20;

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

/** The head of an incident: what it began with, how much came since, and how it stands now. */
export function renderSlackIncident(
  { first, toldCount, isOver }: Thread,
  latest: Notice,
  links: AlertLinks,
): SlackMessage {
  const head = renderSlack([[first]], links);
  const [{ blocks }] = head.attachments;
  const line = isOver
    ? `*Recovered.* ${toldCount} alerts in all, in the thread.`
    : `*${toldCount} alerts so far*, the latest: ${summaryLine(latest)}. All of them are in the thread.`;
  return {
    ...head,
    attachments: [
      { color: COLOURS[isOver ? 'info' : worstOf([first, latest])], blocks: [...blocks, section(line)] },
    ],
  };
}

/** Without blocks: one line of words and ids, for when Slack refuses the rest. */
export function plainSlack(message: Message): { readonly text: string } {
  const lines = message
    .flat()
    .map((notice) => `${summaryLine(notice)} ${slackCode(notice.operation_id ?? '', VALUE_CHARACTERS_MAX)}`);
  return { text: `${lines.length} alerts: ${lines.join(', ')}`.slice(0, PLAIN_CHARACTERS_MAX) };
}

/** Slack truncates a message's text at 40,000 characters. */
const PLAIN_CHARACTERS_MAX = 39_000;

function summaryLine(notice: Notice): string {
  const what =
    notice.project_id === undefined ? notice.account_id : `${notice.action} in ${notice.project_id}`;
  return `${titleOf(notice)}: ${slackCode(what, VALUE_CHARACTERS_MAX)}`;
}

function cardBlocks(notice: Notice, links: AlertLinks): readonly object[] {
  const facts = factsOf(notice).slice(0, FIELDS_MAX + 1);
  const fields = facts.map(({ label, value }) =>
    markdown(`*${label}*\n${slackCode(value, VALUE_CHARACTERS_MAX)}`),
  );
  const footer = linksLine(notice, links);
  return [
    { type: 'header', text: { type: 'plain_text', text: titleOf(notice), emoji: false } },
    { type: 'section', fields: fields.slice(0, FIELDS_MAX) },
    ...(fields.length > FIELDS_MAX ? [{ type: 'section', fields: fields.slice(FIELDS_MAX) }] : []),
    ...(notice.error === undefined
      ? []
      : [section(`*Error*\n${slackCode(notice.error, ERROR_CHARACTERS_MAX)}`)]),
    section(meaningOf(notice)),
    ...(footer === '' ? [] : [{ type: 'context', elements: [markdown(footer)] }]),
  ];
}

function digestBlocks(message: Message, links: AlertLinks): readonly object[] {
  const notices = message.flat();
  const lineLinks = notices.length > LINKED_NOTICES_MAX ? {} : links;
  const lines = notices.map((notice) => digestLine(notice, lineLinks));
  const title =
    message.length === 1 ? 'Several alerts of one incident' : `Alerts of ${message.length} incidents`;
  return [
    { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
    section(countsOf(notices)),
    ...inSections(lines).map(section),
  ];
}

function digestLine(notice: Notice, links: AlertLinks): string {
  const { project_id, action, operation_id, account_id, failures_count = 0 } = notice;
  const place =
    project_id === undefined ? account_id : `${cleanText(project_id, 60)} ${cleanText(action ?? '', 40)}`;
  const url = operationUrl(notice, links);
  const operation = operation_id === undefined ? '' : ` ${slackCode(operation_id, 40)}`;
  const link = url === undefined ? '' : ` <${url}|open>`;
  const failures = failures_count > 0 ? `, ${failures_count} failed` : '';
  return `${titleOf(notice)}: ${slackCode(place, 102)}${operation}${failures}${link}`;
}

function inSections(lines: readonly string[]): readonly string[] {
  const sections: string[] = [];
  for (const line of lines) {
    const last = sections.at(-1);
    if (last === undefined || last.length + line.length + 1 > SECTION_CHARACTERS_MAX) sections.push(line);
    else sections[sections.length - 1] = `${last}\n${line}`;
  }
  return sections;
}

function linksLine(notice: Notice, links: AlertLinks): string {
  const url = operationUrl(notice, links);
  return [
    ...(url === undefined ? [] : [`<${url}|Open the operation>`]),
    ...(links.runbookUrl === undefined ? [] : [`<${links.runbookUrl}|Runbook>`]),
  ].join('   ');
}

function section(text: string): object {
  return { type: 'section', text: markdown(text) };
}

/** `verbatim`: Slack makes no links, channels or mentions of what looks like one. */
function markdown(text: string): object {
  return { type: 'mrkdwn', text, verbatim: true };
}
