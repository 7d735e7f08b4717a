/** Keeps the upstream's answer to a command for its caller: sealed, and without the secrets that can be asked for again. */

import { withoutSecrets } from '../../../shared/commands/hidden-secrets.ts';
import { BODY_CHARACTERS_MAX } from '../../../shared/commands/kept-answer.ts';
import type { QueuedAnswer } from '../../../shared/commands/queue/queued-command.ts';
import { sealAnswer } from '../../../shared/commands/queue/sealed-request.ts';
import type { Sent } from '../../../shared/commands/send-once.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';

/** Undefined when there was no answer. A body that is too large, or that cannot be searched for secrets, is left out. */
export function queuedAnswerOf(
  sent: Sent | undefined,
  queueKey: Secret,
  ownerId: string,
): QueuedAnswer | undefined {
  if (sent?.kind !== 'answered') return undefined;
  const { status, headers, body } = sent.answer;
  const contentType = headers['content-type'];
  const text = withoutSecrets(new TextDecoder().decode(body));
  const isKept = text !== undefined && text.length <= BODY_CHARACTERS_MAX;
  return {
    status,
    ...(contentType !== undefined && { content_type: contentType }),
    ...(isKept && { body: sealAnswer(text, queueKey, ownerId) }),
  };
}
