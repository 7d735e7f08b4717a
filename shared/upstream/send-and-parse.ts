/** Sends one request of the bridge itself, repeats it after what passes, and parses its answer by a schema. */

import type * as z from 'zod';
import { decideRetry } from '../core/rates/retry-decision.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { readJson } from './read-json.ts';
import { refusalOf } from './refusal.ts';
import {
  nameOf,
  type OutgoingRequest,
  orCancelled,
  type ReadResponse,
  type SendDeps,
  sendWithKey,
} from './send-with-key.ts';
import { UpstreamError } from './upstream-error.ts';
import { failure, serverDateMsOf, transportFailure } from './upstream-failure.ts';

export interface ParsedRequest<Body> extends OutgoingRequest {
  /** This is the schema of a success. */
  readonly schema: z.ZodType<Body>;
  /** Reads the text of a success as JSON. It is called once for each answer, and throws `SyntaxError` like `JSON.parse`. */
  readonly decode?: ((text: string) => unknown) | undefined;
}

export interface ParsedAnswer<Body> {
  readonly body: Body;
  /**
   * This is the upstream's clock, from the `Date` header, in milliseconds since the epoch. It is undefined when the
   * answer has no such header.
   */
  readonly serverDateMs: number | undefined;
}

/** A list of a thousand operations has a third of a megabyte. */
export const ANSWER_BYTES_MAX = 5_000_000;

/**
 * Rejects with `UpstreamError`, after the repetitions that `decideRetry` allows for its kind. When the caller gives up after the upstream
 * has failed, the error is that failure: an invocation that ends before the last repetition must not hide it.
 */
export async function sendAndParse<Body>(
  deps: SendDeps,
  request: ParsedRequest<Body>,
): Promise<ParsedAnswer<Body>> {
  const { clock, random, budget } = deps;
  const read: ReadResponse<ParsedAnswer<Body>> = async (response, key) => {
    if (response.ok) return readAnswer(request, response);
    throw await refusalOf(request, response, { key, nowMs: clock.now() });
  };
  let failed: UpstreamError | undefined;
  let delayMs = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1) await orCancelled(request, clock.sleep(delayMs, request.signal));
      return await sendWithKey(deps, request, read);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { kind, method, status, retryAfterMs } = error;
      if (kind === 'cancelled') throw failed ?? error;
      if (kind === 'rate_limited') budget.pauseFor(retryAfterMs ?? 0);
      const decision = decideRetry({ attempt, kind, method, status, retryAfterMs, dice: random.next() });
      if (decision.kind === 'give_up') throw error;
      if (kind === 'unavailable') failed = error;
      delayMs = decision.delayMs;
    }
  }
}

async function readAnswer<Body>(
  request: ParsedRequest<Body>,
  response: HttpAnswer,
): Promise<ParsedAnswer<Body>> {
  const { signal, schema, decode } = request;
  const json = await readJson(response, ANSWER_BYTES_MAX, decode).catch((error: unknown) => {
    throw transportFailure(error, { ...nameOf(request), signal, response });
  });
  const parsed = schema.safeParse(json);
  if (parsed.success) return { body: parsed.data, serverDateMs: serverDateMsOf(response) };
  throw failure('malformed_answer', { ...nameOf(request), reason: 'the answer has another form', response });
}
