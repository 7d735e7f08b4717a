/** Renders many notices as lines of one Slack message. Each operation is named in some line. */

import { incidentOf } from '../../../../shared/alerts/incident-key.ts';
import { incidentCountOf, type Message } from '../../deciding/messages/message-plan.ts';
import type { Notice } from '../../deciding/notices/notice.ts';
import { cleanText, slackCode } from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  type CommonCause,
  commonCausesOf,
  countsOf,
  operationUrl,
  placeOf,
  projectWordsOf,
  titleOf,
} from '../../wording/wording.ts';
import { header, inSections, SECTION_CHARACTERS_MAX, section, slackTime } from './slack-blocks.ts';

/** Returns what the notice adds to a message of many when it follows `before`, in characters. */
export function slackCharactersOf(notice: Notice, before: Notice | undefined): number {
  if (continues(notice, before)) return shortId(notice).length + 1;
  return compactLine([notice], before).length + 1;
}

/** A link doubles the length of a line, so messages of more notices than this show ids without links. */
const LINKED_NOTICES_MAX = 20;

export function digestBlocks(message: Message, links: AlertLinks): readonly object[] {
  const notices = message.flat();
  const incidentCount = incidentCountOf(message);
  const lines =
    notices.length > LINKED_NOTICES_MAX
      ? compactLines(notices)
      : notices.map((one) => digestLine(one, links));
  const title =
    incidentCount === 1 ? 'Several alerts of one incident' : `Alerts of ${incidentCount} incidents`;
  const head = [countsOf(notices), ...commonCausesOf(notices).map(causeLine)].join('\n');
  return [header(title), section(head), ...inSections(lines).map(section)];
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
  return `${title}${placeCode(first)} \`${notices.map(shortId).join(' ')}\``;
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
  const operation = operation_id === undefined ? '' : ` ${idCode(notice)}`;
  const link = url === undefined ? '' : ` <${url}|open>`;
  const failures = failures_count > 0 ? `, ${failures_count} failed` : '';
  return `${titleOf(notice)}: ${placeCode(notice)}${operation}${failures}${link}`;
}

function placeCode(notice: Notice): string {
  return slackCode(projectWordsOf(notice, cleanText) ?? placeOf(notice), 102);
}

export function idCode({ operation_id }: Notice): string {
  return slackCode(operation_id ?? '', 40);
}

/** Returns the id without the marks of a code span, so that it can stand in one with others. */
function shortId(notice: Notice): string {
  return idCode(notice).slice(1, -1);
}
