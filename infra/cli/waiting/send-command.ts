/** Sends one call to the bridge, and repeats it under the same Idempotency-Key when no answer came. */

import * as z from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../process/option-values.ts';
import { type BridgeAnswer, type BridgeClient, BridgeSilence } from '../connection/bridge-client.ts';

export interface CommandToSend {
  readonly method: string;
  /** The path as the upstream has it, or one that begins with `/api/v2` or `/bridge/v1`. */
  readonly path: string;
  readonly body: string | undefined;
  /** Makes the repetition of a command safe. */
  readonly idempotencyKey: string;
  /** Lets the command wait in the line of its project for up to this many seconds. */
  readonly lineSeconds: number | undefined;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Throws `UsageError` when the method or the path cannot be sent. */
function requestOf({ method, path, body, idempotencyKey, lineSeconds }: CommandToSend) {
  const name = method.toUpperCase();
  if (!METHODS.has(name))
    throw new UsageError(`"${method}" is no method; it takes ${[...METHODS].join(', ')}.`);
  if (!path.startsWith('/') || path.startsWith('//'))
    throw new UsageError(`The path is "${path}"; it takes one such as /projects/icy-hat-70322459/branches.`);
  const isComplete = path.startsWith('/api/v2/') || path.startsWith('/bridge/v1/');
  return {
    method: name,
    path: isComplete ? path : `/api/v2${path}`,
    headers: {
      ...(name !== 'GET' && { 'idempotency-key': idempotencyKey }),
      ...(lineSeconds !== undefined && {
        prefer: 'respond-async',
        'bridge-deadline': String(lineSeconds),
      }),
    },
    ...(body !== undefined && { body }),
  };
}

/** Three repetitions reach past a restart of the bridge. The same key makes sure that the command is carried out once. */
const ATTEMPTS_MAX = 4;
const PAUSE_MS = 1_000;

const IN_PROGRESS = z.looseObject({ type: z.string().endsWith('in-progress') });

/** Rejects with `BridgeSilence` when no attempt was answered. */
export async function sendCommand(
  client: BridgeClient,
  command: CommandToSend,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<BridgeAnswer> {
  const request = requestOf(command);
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await client.send(request);
      if (attempt === ATTEMPTS_MAX || !IN_PROGRESS.safeParse(answer.json).success) return answer;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !(error instanceof BridgeSilence)) throw error;
    }
    await clock.sleep(PAUSE_MS * attempt, signal);
  }
}

export type SentAs =
  | { readonly kind: 'refused' }
  /** No answer of the upstream is known, so the command may have been carried out. */
  | { readonly kind: 'unknown' }
  /** There is nothing to wait for. */
  | { readonly kind: 'done' }
  | { readonly kind: 'queued'; readonly commandId: string }
  | { readonly kind: 'running'; readonly projectId: string; readonly requestId: string };

const started = z.looseObject({
  operations: z.array(z.looseObject({ project_id: z.string() })).min(1),
});

const accepted = z.looseObject({ command: z.looseObject({ command_id: z.string() }) });

/** The upstream says with these statuses of a command that it did nothing, or the bridge did not send it. */
const NOTHING_DONE: ReadonlySet<number> = new Set([429, 503]);

/** Decides from the first answer what there is to wait for. */
export function readSentAs({ status, headers, json }: BridgeAnswer): SentAs {
  if (status >= 500 && !NOTHING_DONE.has(status)) return { kind: 'unknown' };
  if (z.looseObject({ type: z.string().endsWith('outcome-unknown') }).safeParse(json).success)
    return { kind: 'unknown' };
  if (status > 299) return { kind: 'refused' };
  const queued = status === 202 ? accepted.safeParse(json).data : undefined;
  if (queued !== undefined) return { kind: 'queued', commandId: queued.command.command_id };
  const [first] = started.safeParse(json).data?.operations ?? [];
  const requestId = headers.get('bridge-first-request-id') ?? headers.get('bridge-request-id');
  if (first === undefined || requestId === null) return { kind: 'done' };
  return { kind: 'running', projectId: first.project_id, requestId };
}
