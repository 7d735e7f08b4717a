/** What a network, a proxy or a bad day does to an answer that was fine. */

import type { Random } from '../../../shared/runtime/random.ts';
import { drawFault, type FaultDials } from './faults.ts';
import { refusal, type UpstreamContext } from './upstream-context.ts';

export async function damageAnswer(c: UpstreamContext, faults: FaultDials, random: Random): Promise<void> {
  switch (drawFault(faults, random)) {
    case 'rate_limited':
      c.res = refusal(c, 429, 'rate limit exceeded');
      if (faults.retryAfterSeconds !== undefined)
        c.res.headers.set('retry-after', String(faults.retryAfterSeconds));
      break;
    case 'internal_error':
      c.res = refusal(c, 500, 'internal error');
      break;
    case 'unavailable':
      c.res = refusal(c, 503, 'service unavailable');
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
    case undefined:
  }
}

/** The time-out page of the proxy in front of the service: 524 with HTML was seen. */
function proxyPage(): Response {
  const headers = { 'content-type': 'text/html; charset=UTF-8' };
  return new Response('<html><body>A timeout occurred</body></html>', { status: 524, headers });
}

async function firstHalf(answer: Response): Promise<Response> {
  const text = await answer.text();
  const headers = { 'content-type': 'application/json' };
  return new Response(text.slice(0, Math.floor(text.length / 2)), { status: answer.status, headers });
}
