/** Sends e-mail through a topic of SNS. Every address that has confirmed its subscription gets every mail. */

import * as z from 'zod';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { MessageLimits } from '../../deciding/messages/message-plan.ts';
import type { AlertLinks } from '../../wording/wording.ts';
import type { Sender } from '../kind/channel.ts';
import { defineChannelKind, type Mail } from '../kind/channel-kind.ts';
import { MAIL_BYTES_MAX, MAIL_NOTICES_MAX, mailBytesOf, renderMail } from './render-mail.ts';

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
        return { kind: 'failed', reason: toError(error).name };
      }
    },
  };
}
