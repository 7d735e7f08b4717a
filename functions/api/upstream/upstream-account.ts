/** One account of the upstream, as the API's commands reach it. */

import type { ApiAccount } from '../../../shared/config/api-config.ts';
import type { RecordCommandDeps } from '../../../shared/protocol/record-command.ts';
import type { CallDeps } from '../../../shared/upstream/call-upstream.ts';
import type { FairShare } from '../serving/fair-share.ts';

export interface UpstreamAccount {
  readonly settings: ApiAccount;
  readonly calls: CallDeps;
  /** Every repetition needs a permit of its own, of the caller and of the account. */
  readonly fairShare: Pick<FairShare, 'admit'>;
  /** What a command started is recorded and published with these. */
  readonly recording: RecordCommandDeps;
}
