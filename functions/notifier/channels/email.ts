/**
 * Sends e-mail through a topic of SNS. Every address that has confirmed its subscription gets every mail: a plain
 * text that reads well on a phone, the verdict first and the ids last.
 */

import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod';
import type { Message, Notice } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import {
  ERROR_CHARACTERS_MAX,
  headlineOf,
  headlineOfMany,
  headlineWithError,
  mailSubject,
  mailText,
  VALUE_CHARACTERS_MAX,
} from '../deciding/text.ts';
import { latestOfEach, type MessageLimits } from '../deciding/waking.ts';
import {
  type AlertLinks,
  type CommonCause,
  commonCausesOf,
  countsOf,
  factsOf,
  meaningOf,
  operationUrl,
  zonedTime,
} from '../deciding/wording.ts';
import { defineChannelKind, type Mail, reasonOf, type Sender } from './channel.ts';

/** A sender may hold the channel for longer than this, so a topic that does not answer delays no later sender. */
const TIMEOUT_MS = 10_000;

export function createSnsPublisher(client: SNSClient, topicArn: string): (mail: Mail) => Promise<void> {
  return async ({ subject, body }) => {
    const command = new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: body });
    await client.send(command, { abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
  };
}

/** A person who has to read more than this many notices looks at the console. */
const MAIL_NOTICES_MAX = 2_000;

/** SNS takes 256 KB of message (API Reference, "Publish"). The head and the links have room above this. */
const MAIL_BYTES_MAX = 240_000;

/** Returns what one notice adds to a digest, in bytes. */
function mailBytesOf(notice: Notice, links: AlertLinks): number {
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
  const facts = factsOf(notice).map(({ label, value, form }) =>
    factLine(label, form === 'time' ? zonedTime(value, links) : mailText(value, VALUE_CHARACTERS_MAX)),
  );
  const error =
    notice.error === undefined ? [] : ['', 'Error:', `  ${mailText(notice.error, ERROR_CHARACTERS_MAX)}`];
  const headline = headlineOf(notice, mailText);
  const lines = [headline, meaningOf(notice), ...error, '', ...facts, ...linkLines(notice, links)];
  return {
    subject: mailSubject(`${severityWord([notice])}: ${headlineWithError(notice, mailText)}`),
    body: `${lines.join('\n')}\n`,
  };
}

function digestMail(message: Message, links: AlertLinks): Mail {
  const notices = message.flat();
  const lines = notices.map((notice) => digestLine(notice, links));
  const runbook = links.runbookUrl === undefined ? [] : ['', `Runbook: ${links.runbookUrl}`];
  const causes = commonCausesOf(notices).map((cause) => causeLine(cause, links));
  return {
    subject: mailSubject(`${severityWord(notices)}: ${headlineOfMany(notices, mailText)}`),
    body: `${[countsOf(notices), ...causes, '', ...lines, ...runbook].join('\n')}\n`,
  };
}

function causeLine({ action, project_count, since, usual }: CommonCause, links: AlertLinks): string {
  return `Probably the service: ${mailText(action, 40)} fails in ${project_count} projects since ${zonedTime(since, links)} (${usual}).`;
}

function digestLine(notice: Notice, links: AlertLinks): string {
  const { operation_id } = notice;
  const url = operationUrl(notice, links);
  const operation = operation_id === undefined ? '' : ` [${mailText(operation_id, 40)}]`;
  const link = url === undefined ? '' : `\n  Open: ${url}`;
  return `- ${headlineWithError(notice, mailText)}${operation}${link}`;
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
  return { critical: 'Critical', warning: 'Warning', info: 'Info' }[worstOf(notices)];
}

/** Each address is a subscription to two topics, and so takes two of the 500 resources that a template may have. */
export const EMAILS_MAX = 50;

/** SNS suspends a subscription over ten mails a second. A person cannot read even a tenth of that. */
export const MAIL_PACE: MessageLimits = {
  messageCountMax: 1,
  perMs: 30_000,
  noticesPerMessageMax: MAIL_NOTICES_MAX,
  sizeMax: MAIL_BYTES_MAX,
};

export const email = defineChannelKind({
  name: 'email',
  settings: {
    /** Each address gets a mail in which its owner confirms the subscription. */
    emails: z.array(z.email()).max(EMAILS_MAX).default([]),
  },
  environment: {
    /** People subscribe to this topic. Without it there is no e-mail. */
    ALERT_TOPIC_ARN: z.string().min(1).optional(),
  },
  topicVariable: 'ALERT_TOPIC_ARN',
  create({ ALERT_TOPIC_ARN }, { publisherOf, links }) {
    return ALERT_TOPIC_ARN === undefined ? undefined : createMailChannel(publisherOf(ALERT_TOPIC_ARN), links);
  },
  guide: {
    bounds: [
      {
        name: 'Alerts in one mail',
        value: MAIL_NOTICES_MAX,
      },
      { name: 'Size of one mail', value: MAIL_BYTES_MAX },
    ],
    sampleOf(message, links) {
      const { subject, body } = renderMail(message, links);
      return {
        place: 'by e-mail',
        suffix: 'mail.txt',
        text: `Subject: ${subject}\n\n${body}`,
      };
    },
  },
});

export function createMailChannel(publish: (mail: Mail) => Promise<void>, links: AlertLinks): Sender {
  return {
    pace: { ...MAIL_PACE, sizeOf: (notice) => mailBytesOf(notice, links) },
    async send(message) {
      try {
        await publish(renderMail(message, links));
        return { kind: 'sent' };
      } catch (error) {
        return { kind: 'failed', reason: reasonOf(error) };
      }
    },
  };
}
