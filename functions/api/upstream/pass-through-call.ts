/** A call of the upstream as the API passes it on. */

import type { Call } from '../../../shared/upstream/calls/call.ts';

export interface PassThroughCall {
  readonly id: string;
  readonly call: Call;
  /** Its answer may hold a secret, so it is not kept for a repetition. */
  readonly isSecret: boolean;
}
