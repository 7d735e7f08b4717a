/** A message as a plain-text e-mail that reads well on a phone: short lines, the verdict first, the ids last. */

import { mailSubject, mailText } from './clean-text.ts';
import type { Message } from './message-plan.ts';
import type { Notice } from './notice.ts';
import { type AlertLinks, countsOf, factsOf, meaningOf, operationUrl, titleOf, worstOf } from './wording.ts';

export interface Mail {
  /** ASCII, one line, below 100 characters. */
  readonly subject: string;
  readonly body: string;
}

/** SNS takes 256 KB; a line of a digest is below 400 bytes. */
export const MAIL_NOTICES_MAX = 500;

const VALUE_CHARACTERS_MAX = 120;
const ERROR_CHARACTERS_MAX = 600;

export function renderMail(message: Message, links: AlertLinks): Mail {
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
  const place =
    notice.project_id === undefined ? notice.account_id : `${notice.action} in ${notice.project_id}`;
  return {
    subject: mailSubject(`${severityWord([notice])}: ${titleOf(notice)}: ${mailText(place, 70)}`),
    body: `${lines.join('\n')}\n`,
  };
}

function digestMail(message: Message, links: AlertLinks): Mail {
  const notices = message.flat();
  const lines = notices.map(digestLine);
  const runbook = links.runbookUrl === undefined ? [] : ['', `Runbook: ${links.runbookUrl}`];
  return {
    subject: mailSubject(
      `${severityWord(notices)}: ${notices.length} alerts of ${message.length === 1 ? 'one incident' : `${message.length} incidents`}`,
    ),
    body: `${[countsOf(notices), '', ...lines, ...runbook].join('\n')}\n`,
  };
}

function digestLine(notice: Notice): string {
  const { project_id, action, operation_id, account_id } = notice;
  const place =
    project_id === undefined
      ? mailText(account_id, 63)
      : `${mailText(project_id, 60)} ${mailText(action ?? '', 40)}`;
  const operation = operation_id === undefined ? '' : ` ${mailText(operation_id, 40)}`;
  return `- ${titleOf(notice)}: ${place}${operation}`;
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
