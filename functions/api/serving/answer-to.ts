/**
 * Answers a request whatever happens while the answer is made: every failure becomes a problem document and a log
 * line.
 */

import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { PROBLEM_MEDIA_TYPE, Problem, problemDocument } from './problem.ts';
import type { ApiAnswer } from './route.ts';
import { type Asker, noteRefusal, refusalOf } from './traces.ts';

/**
 * `askerOf` returns who asked, as far as it is known when the request is refused. Without it refusals are not noted.
 */
export async function answerTo(
  { telemetry }: { readonly telemetry: Telemetry },
  requestId: string,
  serve: () => Promise<ApiAnswer>,
  askerOf?: () => Asker,
): Promise<ApiAnswer> {
  try {
    const answer = await serve();
    return { ...answer, headers: { ...NOT_KEPT, ...answer.headers, ...commonHeaders(requestId) } };
  } catch (thrown) {
    const problem = toProblem(thrown);
    const refusal = refusalOf(problem);
    if (refusal !== undefined && askerOf !== undefined) noteRefusal(telemetry, refusal, askerOf());
    if (problem.status >= 500) logFailure(telemetry, requestId, problem);
    return problemAnswer(problem, requestId);
  }
}

/** Turns anything that was thrown into a problem that a caller may see. This happens in no other place. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (isUnreadable(thrown)) {
    return new Problem('record-unreadable', {
      detail:
        'A newer version of the bridge wrote the item, or it is damaged. It is kept unchanged, and everything else continues to work. The operators of the bridge find it in the log under item.unreadable.',
      cause: thrown,
    });
  }
  return new Problem('internal', {
    detail: 'The bridge failed. The request id finds the reason in its log; asking again may help.',
    cause: thrown,
  });
}

/** Logs only the kind of the cause, because its message may have values of the request in it. */
function logFailure(telemetry: Telemetry, requestId: string, { type, cause }: Problem): void {
  telemetry.log('error', 'request.failed', {
    request_id: requestId,
    problem: type,
    reason: isUpstreamError(cause) ? cause.code : toError(cause).name,
  });
}

function problemAnswer(problem: Problem, requestId: string): ApiAnswer {
  return {
    status: problem.status,
    headers: {
      'x-request-id': requestId,
      ...problem.headers,
      ...NOT_KEPT,
      ...commonHeaders(requestId),
      'content-type': PROBLEM_MEDIA_TYPE,
    },
    body: JSON.stringify(problemDocument(problem, requestId)),
  };
}

/** No cache keeps an answer, except where the route says otherwise. No header of the upstream says so. */
const NOT_KEPT = { 'cache-control': 'no-store' };

function commonHeaders(requestId: string): Record<string, string> {
  return { 'x-content-type-options': 'nosniff', 'bridge-request-id': requestId };
}
