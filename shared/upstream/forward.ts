/** Passes one call of the table on: the answer comes back as it is, whatever its status, with few of its headers. */

import { isPassingRefusal } from '../core/rates/no-work.ts';
import { decideRepetition } from '../core/rates/retry-delay.ts';
import type { Call } from './calls/call.ts';
import { echoesKey } from './echoed-key.ts';
import { type CallDeps, outgoingRequest, type RequestParts } from './outgoing-request.ts';
import { readBytes } from './read-json.ts';
import { refusalOf } from './refusal.ts';
import { type ReadResponse, sendWithKey } from './send-with-key.ts';
import { failure, refusal, transportFailure } from './upstream-failure.ts';

export interface ForwardedAnswer {
  readonly status: number;
  /** Only those that mean the same to the caller as to us. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface ForwardOptions {
  readonly signal?: AbortSignal | undefined;
  /** Repetitions end before the caller stops waiting; 0: none. */
  readonly patienceMs: number;
  /** Asked before a repetition is waited for; false: the refusal is the answer. */
  readonly mayWait?: () => Promise<boolean>;
  /** Takes a permit for a repetition, in the moment in which it would leave; false: the refusal is the answer. */
  readonly mayRepeat?: () => boolean;
  /** The answer had our key in it and is passed on to nobody. */
  readonly onKeyEchoed?: () => void;
}

/** A caller can work with these; every other header is about a connection that is not the caller's. */
const PASSED_HEADERS = ['content-type', 'retry-after', 'x-request-id'];

/** As for the bridge's own calls: the largest list is a third of a megabyte. */
export const ANSWER_BYTES_MAX = 5_000_000;

/**
 * Rejects with `UpstreamError` when there is no answer to pass on: not sent, no connection, time-out, too large, or a
 * 401, which is about our key and never the caller's. A mutation whose answer was lost is not sent again.
 */
export async function forward(
  deps: CallDeps,
  call: Call,
  request: RequestParts,
  options: ForwardOptions,
): Promise<ForwardedAnswer> {
  const { signal, patienceMs, mayWait = async () => true, mayRepeat = () => true } = options;
  const { clock, budget, random } = deps;
  const outgoing = { ...outgoingRequest(deps.base, call, request), signal };
  const untilMs = clock.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const { answer, retryAfterMs } = await sendWithKey(deps, outgoing, readWhole(deps, call, options));
    if (!isPassingRefusal(answer.status)) return answer;
    if (answer.status === 429 && retryAfterMs !== undefined) budget.pauseFor(retryAfterMs);
    const decision = decideRepetition({ attempt, retryAfterMs, dice: random.next() });
    if (decision.kind === 'give_up' || clock.now() + decision.delayMs > untilMs) return answer;
    if (!(await mayWait())) return answer;
    await clock.sleep(decision.delayMs, signal);
    if (!mayRepeat()) return answer;
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
    const { retryAfterMs } = refusal(response, { method, path, body: undefined, nowMs, key });
    const body = await readBytes(response, ANSWER_BYTES_MAX).catch((error: unknown) => {
      throw transportFailure(error, { method, path, signal: undefined, response });
    });
    const headers = PASSED_HEADERS.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    if (echoesKey(key, [body, ...headers.map(([, value]) => value)])) {
      onKeyEchoed?.();
      throw failure('malformed_answer', { method, path, reason: 'the answer repeats our key', response });
    }
    return { answer: { status: response.status, headers: Object.fromEntries(headers), body }, retryAfterMs };
  };
}
