/** Builds the problem that a caller gets when the upstream gave no answer that can be passed on. */

import { hadNoEffect } from '../../../shared/commands/forward-call.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { isRead } from '../../../shared/upstream/calls/call.ts';
import type { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { Problem } from '../serving/problem.ts';

const ASK_AGAIN = 'Asking again may help.';
const MAY_BE_DONE =
  'The command may have been carried out: look at what it should have changed before you send it again.';

/** The problem says whether the command may have been carried out, in addition to what failed. */
export function unansweredProblem(failure: UpstreamError, call: Call): Problem {
  const advice = isRead(call) ? ASK_AGAIN : MAY_BE_DONE;
  if (hadNoEffect(failure)) {
    return new Problem('upstream-unavailable', {
      detail:
        "The upstream refused the bridge's own key. Nothing was done; whoever runs the bridge must renew the key.",
      cause: failure,
      provesNoWork: true,
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
