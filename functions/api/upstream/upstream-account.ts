/** Describes one account of the upstream as the API's callers reach it. */

import type { CommandAccount } from '../../../shared/commands/send-command.ts';
import type { FairShare } from '../permits/fair-share.ts';

export interface UpstreamAccount extends CommandAccount {
  /** Each repetition needs a permit of its own, from the limits of the caller and of the account. */
  readonly fairShare: Pick<FairShare, 'admit'>;
}
