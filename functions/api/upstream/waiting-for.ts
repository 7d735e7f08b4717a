/** How long a caller's refused call is waited out: while the caller is patient, has a free place, and has permits left. */

import type { Waiting } from '../../../shared/commands/forward-call.ts';
import { patienceMsOf } from '../serving/patience.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import type { ApiRequest } from '../serving/route.ts';
import type { UpstreamAccount } from './upstream-account.ts';

export interface PatienceDeps {
  readonly patient: PatientCallers;
  readonly fairShare: UpstreamAccount['fairShare'];
}

/** The caller's free place is taken before the first wait, and given back when the upstream's last answer is there. */
export function waitingFor(
  { patient, fairShare }: PatienceDeps,
  { caller, headers, signal }: ApiRequest,
): Waiting {
  const patienceMs = patienceMsOf(headers.prefer);
  let release: (() => Promise<void>) | undefined;
  return {
    signal,
    patienceMs,
    async mayWait() {
      release ??= await patient.tryWait(caller, 'commands', patienceMs);
      return release !== undefined;
    },
    mayRepeat: () => fairShare.admit(caller.client_id) === 0,
    endWait: async () => release?.(),
  };
}
