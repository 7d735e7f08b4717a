/** How long a caller's refused call is waited out: while the caller is patient, has a free place, and has permits left. */

import type { Waiting } from '../../../shared/commands/forward-call.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { preferredWaitMs } from '../serving/prefer-wait.ts';
import type { ApiRequest } from '../serving/route.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import { waitingPlace } from './waiting-place.ts';

export interface LockWaitDeps {
  readonly patient: PatientCallers;
  readonly fairShare: UpstreamAccount['fairShare'];
}

/** The caller's free place is taken before the first wait, and given back when the upstream's last answer is there. */
export function lockWait(
  { patient, fairShare }: LockWaitDeps,
  { caller, headers, signal }: ApiRequest,
): Waiting {
  const patienceMs = preferredWaitMs(headers.prefer);
  const place = waitingPlace(patient, caller, patienceMs);
  return {
    signal,
    patienceMs,
    mayWait: () => place.take(),
    mayRepeat: async (restMs) => (await fairShare.admit(caller.client_id, restMs)) === 0,
    endWait: () => place.giveBack(),
  };
}
