/**
 * Keeps the first answer to a command for repetitions: sealed, because some answers contain secrets that are not declared
 * as such, and without the secrets that are.
 */

import { type SealOptions, seal, unseal } from '../callers/seal.ts';
import type { Secret } from '../runtime/secret.ts';
import type { ForwardedAnswer } from '../upstream/forward.ts';
import type { CommandRequest, ForwardableCall } from './command-request.ts';
import { withoutSecrets } from './hidden-secrets.ts';
import type { Attempt, FirstOutcome, FirstRequest } from './idempotency-store.ts';

/** This is a bound on the body, because an item of the table has at most 400 kB. Answers to commands have a few. */
export const BODY_CHARACTERS_MAX = 64_000;

export interface KeptAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
  /** The first answer held secrets, which can be asked for again. This one does not have them. */
  readonly isWithheld: boolean;
}

/** Returns what is kept of the answer to a command. */
export function outcomeToKeep(
  answer: ForwardedAnswer,
  { request, operationIds }: { readonly request: CommandRequest; readonly operationIds: readonly string[] },
  seals: { readonly pepper: Secret; readonly attempt: Attempt },
): FirstOutcome {
  const text = new TextDecoder().decode(answer.body);
  const shown = textToKeep(text, request.target);
  const isKept = shown !== undefined && shown.length <= BODY_CHARACTERS_MAX;
  return {
    status: answer.status,
    content_type: answer.headers['content-type'],
    body: isKept ? seal(shown, sealOptions(seals.pepper, seals.attempt)) : undefined,
    ...(isKept && shown !== text && { is_withheld: true }),
    ...firstRequestOf(request, text),
    ...(operationIds.length > 0 && { operation_ids: operationIds }),
  };
}

/**
 * The secrets of a connection can be asked for again, and are found by their names and shapes. What a call issues may be
 * any text and is shown once, so nothing of its answer is kept.
 */
function textToKeep(text: string, { isSecret, shows }: ForwardableCall): string | undefined {
  if (!isSecret) return text;
  return shows === 'connection' ? withoutSecrets(text) : undefined;
}

/** The project and the branch are those of the path, or those that the answer describes. */
function firstRequestOf({ requestId, ids }: CommandRequest, text: string): FirstRequest {
  const project_id = ids['project_id'] ?? describedIn(text, 'project');
  const branch_id = ids['branch_id'] ?? describedIn(text, 'branch');
  return {
    request_id: requestId,
    ...(project_id !== undefined && { project_id }),
    ...(branch_id !== undefined && { branch_id }),
  };
}

function describedIn(text: string, name: 'project' | 'branch'): string | undefined {
  try {
    const id: unknown = (JSON.parse(text) as Record<string, { id?: unknown } | undefined> | null)?.[name]?.id;
    return typeof id === 'string' && ID.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Such an id may stand in headers and addresses. */
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * Returns undefined when no body was kept, or when it cannot be opened, because it was changed or another pepper
 * sealed it.
 */
export function keptAnswer(
  { status, content_type, body, is_withheld = false }: FirstOutcome,
  pepper: Secret,
  attempt: Attempt,
): KeptAnswer | undefined {
  const text = body === undefined ? undefined : unseal(body, sealOptions(pepper, attempt));
  if (text === undefined) return undefined;
  return { status, contentType: content_type, body: text, isWithheld: is_withheld };
}

function sealOptions(pepper: Secret, { keyHash }: Attempt): SealOptions {
  return { key: pepper, purpose: 'kept-answer', boundTo: keyHash };
}
