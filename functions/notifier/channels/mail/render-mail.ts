/** Renders a message as a plain-text mail that reads well on a phone: short lines, the verdict first, the ids last. */

import { latestOfEach } from '../../deciding/messages/latest-of-each.ts';
import { incidentCountOf, type Message } from '../../deciding/messages/message-plan.ts';
import type { Notice } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import {
  ERROR_CHARACTERS_MAX,
  mailSubject,
  mailText,
  VALUE_CHARACTERS_MAX,
} from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  type CommonCause,
  commonCausesOf,
  countsOf,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  projectWordsOf,
  titleOf,
} from '../../wording/wording.ts';
import type { Mail } from '../kind/channel-kind.ts';

/** A person who has to read more than this many notices looks at the console. */
export const MAIL_NOTICES_MAX = 2_000;

/** SNS takes 256 KB of message (API Reference, "Publish"). The head and the links have room above this. */
export const MAIL_BYTES_MAX = 240_000;

/** Returns what one notice adds to a digest, in bytes. */
export function mailBytesOf(notice: Notice, links: AlertLinks): number {
  return Buffer.byteLength(digestLine(notice, links)) + 1;
}

/** An operation stands in one line, with its latest state. */
export function renderMail(all: Message, links: AlertLinks): Mail {
  const message = latestOfEach(all);
  const notices = message.flat();
  const [first] = notices;
  return notices.length === 1 && first !== undefined ? singleMail(first, links) : digestMail(message, links);
}

function singleMail(notice: Notice, links: AlertLinks): Mail {
  const facts = factsOf(notice).map(({ label, value }) =>
    factLine(label, mailText(value, VALUE_CHARACTERS_MAX)),
  );
  const error =
    notice.error === undefined ? [] : ['', 'Error:', `  ${mailText(notice.error, ERROR_CHARACTERS_MAX)}`];
  const lines = [titleOf(notice), meaningOf(notice), '', ...facts, ...error, ...linkLines(notice, links)];
  return {
    subject: mailSubject(`${severityWord([notice])}: ${titleOf(notice)}: ${mailText(placeOf(notice), 70)}`),
    body: `${lines.join('\n')}\n`,
  };
}

function digestMail(message: Message, links: AlertLinks): Mail {
  const notices = message.flat();
  const lines = notices.map((notice) => digestLine(notice, links));
  const incidentCount = incidentCountOf(message);
  const runbook = links.runbookUrl === undefined ? [] : ['', `Runbook: ${links.runbookUrl}`];
  return {
    subject: mailSubject(
      `${severityWord(notices)}: ${notices.length} alerts of ${incidentCount === 1 ? 'one incident' : `${incidentCount} incidents`}`,
    ),
    body: `${[countsOf(notices), ...commonCausesOf(notices).map(causeLine), '', ...lines, ...runbook].join('\n')}\n`,
  };
}

function causeLine({ action, project_count, since, usual }: CommonCause): string {
  return `Probably the service: ${mailText(action, 40)} fails in ${project_count} projects since ${since} (${usual}).`;
}

function digestLine(notice: Notice, links: AlertLinks): string {
  const { operation_id } = notice;
  const url = operationUrl(notice, links);
  const place = projectWordsOf(notice, mailText) ?? mailText(placeOf(notice), 63);
  const operation = operation_id === undefined ? '' : ` ${mailText(operation_id, 40)}`;
  const link = url === undefined ? '' : `\n  Open: ${url}`;
  return `- ${titleOf(notice)}: ${place}${operation}${link}`;
}

function linkLines(notice: Notice, links: AlertLinks): readonly string[] {
  const url = operationUrl(notice, links);
  const lines = [
    ...(url === undefined ? [] : [`Open: ${url}`]),
    ...(links.runbookUrl === undefined ? [] : [`Runbook: ${links.runbookUrl}`]),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

function factLine(label: string, value: string): string {
  return `${`${label}:`.padEnd(12)}${value}`;
}

function severityWord(notices: readonly Notice[]): string {
  return { critical: 'Critical', warning: 'Warning', info: 'Good news' }[worstOf(notices)];
}
