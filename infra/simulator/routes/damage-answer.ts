/**
 * Fails a request as a network, a proxy or an overloaded service does: before any work is done, or by losing the
 * answer.
 */

import type { AnswerFault, FaultDials } from '../faults/faults.ts';
import { tooManyRequests } from './too-many-requests.ts';
import { refusal, type UpstreamContext } from './upstream-context.ts';

/**
 * Refuses before any work is done: 429 and 503 are safe to repeat (public contract). Returns undefined when the
 * service works on the request, whatever becomes of its answer.
 */
export function refusedBeforeWork(
  c: UpstreamContext,
  fault: AnswerFault | undefined,
  { retryAfterSeconds }: FaultDials,
): Response | undefined {
  if (fault === 'unavailable') return refusal(c, 503, 'service unavailable');
  return fault === 'rate_limited' ? tooManyRequests(c, retryAfterSeconds) : undefined;
}

/** The work is done and its answer is lost on the way, which no client can distinguish from work not done. */
export async function damageAnswer(c: UpstreamContext, fault: AnswerFault | undefined): Promise<void> {
  switch (fault) {
    case 'internal_error':
      c.res = refusal(c, 500, 'internal error');
      break;
    case 'html_error':
      c.res = proxyPage();
      break;
    case 'dropped_connection':
      c.env.incoming?.socket.destroy();
      break;
    case 'half_body':
      c.res = await firstHalf(c.res);
      break;
    case 'rate_limited':
    case 'unavailable':
    case undefined:
  }
}

/** Returns the time-out page of the proxy in front of the service. A 524 with HTML was seen. */
function proxyPage(): Response {
  const headers = { 'content-type': 'text/html; charset=UTF-8' };
  return new Response('<html><body>A timeout occurred</body></html>', { status: 524, headers });
}

async function firstHalf(answer: Response): Promise<Response> {
  const text = await answer.text();
  const headers = { 'content-type': 'application/json' };
  return new Response(text.slice(0, Math.floor(text.length / 2)), { status: answer.status, headers });
}
