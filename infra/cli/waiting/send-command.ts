/** Sends one call to the bridge, and repeats it under the same Idempotency-Key when no answer came. */

import * as z from 'zod';
import { provesNoWork } from '../../../shared/core/rates/no-work.ts';
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

export interface Answered {
  readonly answer: BridgeAnswer;
  /** An earlier attempt may have reached the bridge, and its answer was lost. */
  readonly wasLost: boolean;
}

/** Resolves to undefined when no attempt was answered and one may have arrived. Rejects with `BridgeSilence` when none can have. */
export async function sendCommand(
  client: BridgeClient,
  command: CommandToSend,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Answered | undefined> {
  const request = requestOf(command);
  let wasLost = false;
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await client.send(request);
      if (attempt === ATTEMPTS_MAX || !IN_PROGRESS.safeParse(answer.json).success) return { answer, wasLost };
    } catch (error) {
      if (!(error instanceof BridgeSilence)) throw error;
      wasLost ||= error.mayHaveArrived && !isRead(command);
      if (attempt === ATTEMPTS_MAX && wasLost) return undefined;
      if (attempt === ATTEMPTS_MAX) throw error;
    }
    await clock.sleep(PAUSE_MS * attempt, signal);
  }
}

/** A read changes nothing, so that it is never unknown what it did. */
function isRead({ method }: Pick<CommandToSend, 'method'>): boolean {
  return method.toUpperCase() === 'GET';
}

export type SentAs =
  | { readonly kind: 'refused' }
  /** A read that was not answered as it should be. */
  | { readonly kind: 'failed' }
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

const problem = z.looseObject({ type: z.templateLiteral(['urn:operations-bridge:problem:', z.string()]) });

/** The first request under the key was carried out. The problem names it, and what it has started. */
const carriedOut = z.looseObject({
  type: z.string().endsWith(':secret-already-issued'),
  first_request_id: z.string().optional(),
  project_id: z.string().optional(),
  operation_ids: z.array(z.string()).optional(),
});

/** The first request under the key has no answer, or not yet. */
const undecided = z.looseObject({ type: z.string().regex(/:(outcome-unknown|in-progress)$/) });

/** Decides from the answer what there is to wait for. */
export function readSentAs({ answer, wasLost }: Answered, command: Pick<CommandToSend, 'method'>): SentAs {
  const { status, headers, json } = answer;
  const first = carriedOut.safeParse(json).data;
  if (first !== undefined) return sentFirst(first);
  if (status > 299) return { kind: isRead(command) ? readKind(status) : refusalKind(answer, wasLost) };
  const queued = status === 202 ? accepted.safeParse(json).data : undefined;
  if (queued !== undefined) return { kind: 'queued', commandId: queued.command.command_id };
  const [operation] = started.safeParse(json).data?.operations ?? [];
  const requestId = headers.get('bridge-first-request-id') ?? headers.get('bridge-request-id');
  if (operation === undefined || requestId === null) return { kind: 'done' };
  return { kind: 'running', projectId: operation.project_id, requestId };
}

function sentFirst({
  first_request_id: requestId,
  project_id: projectId,
  operation_ids = [],
}: z.output<typeof carriedOut>): SentAs {
  if (requestId === undefined || projectId === undefined || operation_ids.length === 0)
    return { kind: 'done' };
  return { kind: 'running', projectId, requestId };
}

function readKind(status: number): 'refused' | 'failed' {
  return status >= 500 && !provesNoWork(status) ? 'failed' : 'refused';
}

/**
 * The bridge looks at some things, such as a freeze, before it looks at the key. After a lost answer its own refusal says
 * nothing of the attempt before. The upstream is asked only under a key that is free, so its refusal says that nothing was done.
 */
function refusalKind({ status, json }: BridgeAnswer, wasLost: boolean): 'refused' | 'unknown' {
  if (undecided.safeParse(json).success) return 'unknown';
  if (status < 400) return wasLost ? 'unknown' : 'refused';
  if (problem.safeParse(json).success)
    return wasLost || (status >= 500 && status !== 503) ? 'unknown' : 'refused';
  return provesNoWork(status) || (status === CONFLICT && !wasLost) ? 'refused' : 'unknown';
}

/** The bridge sends a command once, so without a lost answer a conflict is one with what was there before. */
const CONFLICT = 409;
