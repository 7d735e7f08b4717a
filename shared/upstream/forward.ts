/**
 * Passes one call of a caller on to the upstream. The answer comes back unchanged, whatever its status, with a few of
 * its headers.
 */

import { isPassingRefusal } from '../core/rates/no-work.ts';
import { callerPauseMs } from '../core/rates/retry-decision.ts';
import type { Call } from './calls/call.ts';
import { echoesKey } from './echoed-key.ts';
import { type CallDeps, outgoingRequest, type RequestParts } from './outgoing-request.ts';
import { readBytes } from './read-json.ts';
import { refusalOf } from './refusal.ts';
import { type ReadResponse, sendWithKey } from './send-with-key.ts';
import { failure, retryAfterMsOf, transportFailure } from './upstream-failure.ts';

export interface ForwardedAnswer {
  readonly status: number;
  /** Only these headers mean the same to the caller as to the bridge. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ForwardOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * The caller waits for this time at the most, and no repetition is sent later. With 0 the first answer is final.
   */
  readonly patienceMs: number;
  /**
   * This is called before the pause that precedes a repetition, with the status of the refusal. When it returns
   * false, the refusal is the answer.
   */
  readonly mayWait?: (status: number) => Promise<boolean>;
  /**
   * Takes a permit for a repetition when it is about to be sent, and waits for the permit no longer than this. When
   * it returns false, the refusal is the answer.
   */
  readonly mayRepeat?: (patienceMs: number) => Promise<boolean>;
  /** This is called when the answer contains the bridge's key. Such an answer is not passed on. */
  readonly onKeyEchoed?: () => void;
}

/** A caller can use these headers. Every other header is about the connection between the bridge and the upstream. */
const PASSED_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/** The largest list that was measured has a third of a megabyte. */
export const ANSWER_BYTES_MAX = 5_000_000;

/**
 * Rejects with `UpstreamError` when there is no answer to pass on: the request was not sent, the connection failed, the time-out
 * passed, the answer is too large, or it is a 401, which is about the bridge's own key. A mutation whose answer was lost is not sent
 * again.
 */
export async function forward(
  deps: CallDeps,
  call: Call,
  request: RequestParts,
  options: ForwardOptions,
): Promise<ForwardedAnswer> {
  const { signal, patienceMs, mayWait = async () => true, mayRepeat = async () => true } = options;
  const { clock, budget, random } = deps;
  const outgoing = { ...outgoingRequest(deps.base, call, request), signal };
  const untilMs = clock.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const { answer, retryAfterMs } = await sendWithKey(deps, outgoing, readWhole(deps, call, options));
    if (!isPassingRefusal(answer.status)) return answer;
    if (answer.status === 429 && retryAfterMs !== undefined) budget.pauseFor(retryAfterMs);
    const pauseMs = callerPauseMs({ attempt, retryAfterMs, dice: random.next() });
    if (clock.now() + pauseMs > untilMs) return answer;
    if (!(await mayWait(answer.status))) return answer;
    await clock.sleep(pauseMs, signal);
    if (!(await mayRepeat(untilMs - clock.now()))) return answer;
  }
}

interface Whole {
  readonly answer: ForwardedAnswer;
  readonly retryAfterMs: number | undefined;
}

function readWhole(
  { clock }: CallDeps,
  { method, path }: Call,
  { onKeyEchoed }: ForwardOptions,
): ReadResponse<Whole> {
  return async (response, key) => {
    const nowMs = clock.now();
    if (response.status === 401) throw await refusalOf({ method, path }, response, { key, nowMs });
    const retryAfterMs = retryAfterMsOf(response, nowMs);
    const body = await readBytes(response, ANSWER_BYTES_MAX).catch((error: unknown) => {
      throw transportFailure(error, { method, path, signal: undefined, response });
    });
    const headers: Record<string, string> = {};
    for (const name of PASSED_HEADERS) {
      const value = response.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    if (echoesKey(key, [body, ...Object.values(headers)])) {
      onKeyEchoed?.();
      throw failure('malformed_answer', { method, path, reason: 'the answer repeats our key', response });
    }
    return { answer: { status: response.status, headers, body }, retryAfterMs };
  };
}
