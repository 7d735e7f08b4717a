/** Says in a sentence for people why nothing of an account is read, from what the poller reports. */

import type { AccountStatus, AccountTrouble } from '../../../shared/core/records/account-status.ts';

const SENTENCES: Readonly<Record<AccountTrouble, string>> = {
  key_rejected: "The upstream refuses the account's key: put a valid one into its secret.",
  key_unreadable:
    "The account's key cannot be read from its secret: the log line key.unreadable of the poller says why, and what to do.",
  upstream_failing:
    'No poll of the account has succeeded for minutes: check whether the upstream answers, and its address.',
};

/** Returns one sentence, or none when readings succeed. */
export function troubleReasons(status: Pick<AccountStatus, 'trouble'> | undefined): readonly string[] {
  return status?.trouble === undefined ? [] : [SENTENCES[status.trouble]];
}
