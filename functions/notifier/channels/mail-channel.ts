/** E-mail, through whatever takes a subject and a body. */

import { toError } from '../../../shared/runtime/errors.ts';
import type { Channel } from './channel.ts';
import type { MessageLimits } from './message-plan.ts';
import { MAIL_BYTES_MAX, MAIL_NOTICES_MAX, type Mail, mailBytesOf, renderMail } from './render-mail.ts';
import type { AlertLinks } from './wording.ts';

/** SNS suspends a subscription over ten mails a second; a person has read enough long before. */
export const MAIL_PACE: MessageLimits = {
  messageCountMax: 1,
  perMs: 30_000,
  noticesPerMessageMax: MAIL_NOTICES_MAX,
  sizeMax: MAIL_BYTES_MAX,
  sizeOf: mailBytesOf,
};

export function createMailChannel(publish: (mail: Mail) => Promise<void>, links: AlertLinks): Channel {
  return {
    name: 'email',
    pace: MAIL_PACE,
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
