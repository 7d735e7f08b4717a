/** Renders a message for a program: every alert with its fields, and the words that people get elsewhere. */

import { createHash } from 'node:crypto';
import type { Message } from '../../deciding/messages/message-plan.ts';
import type { Notice, Severity } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import { cleanText, ERROR_CHARACTERS_MAX } from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  countsOf,
  meaningOf,
  operationUrl,
  placeOf,
  titleOf,
} from '../../wording/wording.ts';

/** A type and data are what the specification of Standard Webhooks asks of a payload (section "Payload structure"). */
export interface WebhookPayload {
  readonly type: 'operations_bridge.alerts';
  /** The newest of the alerts was observed at this time. */
  readonly timestamp?: string;
  readonly data: {
    /** The summary is one line of plain text. */
    readonly summary: string;
    /** The most severe of the alerts has this severity. */
    readonly severity: Severity;
    readonly alerts: readonly WebhookAlert[];
    readonly runbook_url?: string;
  };
}

/** An alert has the fields of its notice, and words for people. A receiver recognises a copy of it by `id`. */
type WebhookAlert = Notice & { readonly title: string; readonly meaning: string; readonly url?: string };

export function webhookPayload(message: Message, links: AlertLinks): WebhookPayload {
  const notices = message.flat();
  const timestamp = notices
    .map(({ observed_at }) => observed_at)
    .toSorted()
    .at(-1);
  return {
    type: 'operations_bridge.alerts',
    ...(timestamp && { timestamp }),
    data: {
      summary: summaryOf(notices),
      severity: worstOf(notices),
      alerts: notices.map((notice) => alertOf(notice, links)),
      ...(links.runbookUrl !== undefined && { runbook_url: links.runbookUrl }),
    },
  };
}

/** Returns the id of the message. The same alerts give the same id, so that the receiver recognises a copy. */
export function webhookIdOf(message: Message): string {
  const ids = message.flat().map(({ id }) => id);
  const digest = createHash('sha256').update(JSON.stringify(ids.toSorted())).digest('base64url');
  return `msg_${digest.slice(0, 27)}`;
}

/** Returns what the alert adds to the payload, in bytes. */
export function alertBytesOf(notice: Notice, links: AlertLinks): number {
  return Buffer.byteLength(JSON.stringify(alertOf(notice, links))) + 1;
}

function summaryOf(notices: readonly Notice[]): string {
  const [first] = notices;
  if (notices.length !== 1 || first === undefined) return countsOf(notices);
  return cleanText(`${titleOf(first)}: ${placeOf(first)}`, ERROR_CHARACTERS_MAX);
}

function alertOf(notice: Notice, links: AlertLinks): WebhookAlert {
  const url = operationUrl(notice, links);
  const { id, kind, severity, ...rest } = notice;
  const fields = Object.entries(rest).map(([name, value]) => [
    name,
    typeof value === 'string' ? cleanText(value, ERROR_CHARACTERS_MAX) : value,
  ]);
  return {
    id,
    kind,
    severity,
    title: titleOf(notice),
    meaning: meaningOf(notice),
    ...(url !== undefined && { url }),
    ...(Object.fromEntries(fields) as Omit<Notice, 'id' | 'kind' | 'severity'>),
  };
}
