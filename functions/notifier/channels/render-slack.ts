/** A message as Slack's Block Kit. Everything from outside stands in code spans, where it can do nothing. */

import type { Thread } from '../../../shared/alerts/incident.ts';
import type { Notice, Severity } from '../../../shared/alerts/notice.ts';
import { incidentOf } from '../../../shared/alerts/pending-notice.ts';
import { cleanText, slackCode } from './clean-text.ts';
import { incidentCountOf, type Message } from './message-plan.ts';
import {
  type AlertLinks,
  countsOf,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  titleOf,
  worstOf,
} from './wording.ts';

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

/** Operations of one incident share a line, so that a message of usual ids names about this many. */
export const SLACK_NOTICES_MAX = 250;

/** Slack takes some 13,000 characters of blocks in one message; the head of the message has room above this. */
export const SLACK_CHARACTERS_MAX = 12_000;

/** Of one notice in a message of many, after the one before it. */
export function slackCharactersOf(notice: Notice, before: Notice | undefined): number {
  if (continues(notice, before)) return shortId(notice).length + 1;
  return compactLine([notice], before).length + 1;
}

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

/** Without blocks: one line of words and ids, for when Slack refuses the rest. Every notice is named in it. */
export function plainSlack(message: Message): { readonly text: string } {
  const notices = message.flat();
  const head = `${notices.length} alerts: `;
  const full = notices.map((notice) => `${summaryLine(notice)} ${idOf(notice)}`).join(', ');
  if (head.length + full.length <= PLAIN_CHARACTERS_MAX) return { text: `${head}${full}` };
  return { text: `${head}${countsOf(notices)}. Operations: ${notices.map(plainId).join(' ')}` };
}

/** No character of it has to be escaped, so that even 250 of them are short. */
function plainId({ operation_id, account_id }: Notice): string {
  return (operation_id ?? account_id).replaceAll(/[^\w.:-]/g, '?').slice(0, 60);
}

/** Slack truncates a message's text at 40,000 characters. */
const PLAIN_CHARACTERS_MAX = 39_000;

function summaryLine(notice: Notice): string {
  return `${titleOf(notice)}: ${slackCode(placeOf(notice), VALUE_CHARACTERS_MAX)}`;
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
  const incidentCount = incidentCountOf(message);
  const lines =
    notices.length > LINKED_NOTICES_MAX
      ? compactLines(notices)
      : notices.map((one) => digestLine(one, links));
  const title =
    incidentCount === 1 ? 'Several alerts of one incident' : `Alerts of ${incidentCount} incidents`;
  return [
    { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
    section(countsOf(notices)),
    ...inSections(lines).map(section),
  ];
}

/** Operations of one incident and kind on one line, as long as a section has room; what happened stands above the first. */
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

/** Of a title and a place, with every character of the place escaped. */
const LINE_HEAD_CHARACTERS = 700;

function compactLine(notices: readonly Notice[], before: Notice | undefined): string {
  const [first] = notices;
  if (first === undefined) return '';
  const title = before !== undefined && titleOf(before) === titleOf(first) ? '' : `*${titleOf(first)}*\n`;
  return `${title}${slackCode(placeWords(first), 102)} \`${notices.map(shortId).join(' ')}\``;
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
  const { operation_id, failures_count = 0 } = notice;
  const url = operationUrl(notice, links);
  const operation = operation_id === undefined ? '' : ` ${idOf(notice)}`;
  const link = url === undefined ? '' : ` <${url}|open>`;
  const failures = failures_count > 0 ? `, ${failures_count} failed` : '';
  return `${placeLine(notice)}${operation}${failures}${link}`;
}

function placeLine(notice: Notice): string {
  return `${titleOf(notice)}: ${slackCode(placeWords(notice), 102)}`;
}

function placeWords(notice: Notice): string {
  const { project_id, action } = notice;
  return project_id === undefined
    ? placeOf(notice)
    : `${cleanText(project_id, 60)} ${cleanText(action ?? '', 40)}`;
}

function idOf({ operation_id }: Notice): string {
  return slackCode(operation_id ?? '', 40);
}

/** To stand in a code span with others. */
function shortId({ operation_id }: Notice): string {
  return slackCode(operation_id ?? '', 40).slice(1, -1);
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
