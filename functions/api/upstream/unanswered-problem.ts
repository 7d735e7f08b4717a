/** The problem that a caller is answered with when the upstream gave no answer that can be passed on. */

import type { Call } from '../../../shared/upstream/calls/call.ts';
import { isRead } from '../../../shared/upstream/calls/call.ts';
import type { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { Problem } from '../serving/problem.ts';

const ASK_AGAIN = 'Asking again may help.';
const MAY_BE_DONE =
  'The command may have been carried out: look at what it should have changed before you send it again.';

/** Says apart from the failure whether the command may have been carried out. */
export function unansweredProblem(failure: UpstreamError, call: Call): Problem {
  const advice = isRead(call) ? ASK_AGAIN : MAY_BE_DONE;
  if (failure.kind === 'unauthorized') {
    return new Problem('upstream-unavailable', {
      detail:
        "The upstream refused the bridge's own key. Nothing was done; whoever runs the bridge must renew the key.",
      cause: failure,
    });
  }
  if (failure.kind === 'timeout' || failure.kind === 'cancelled') {
    return new Problem('upstream-timeout', {
      detail: `The upstream did not answer in time. ${advice}`,
      cause: failure,
    });
  }
  return new Problem('upstream-unavailable', {
    detail: `The upstream gave no usable answer. ${advice}`,
    cause: failure,
  });
}
