/** Says in words why a project could not be read, for people who do not know the names of the bridge's errors. */

import type { UpstreamErrorKind } from '../../../../shared/core/rates/upstream-error-kind.ts';

type Reason = UpstreamErrorKind | 'unfinished' | 'item_unreadable' | 'failed';

const WORDS: Readonly<Record<Reason, string>> = {
  unauthorized: 'the upstream rejects the key',
  forbidden: 'the key may not read it',
  not_found: 'the upstream does not find it',
  locked: 'the upstream refuses while other operations run',
  rate_limited: 'the upstream refuses more requests for now',
  unavailable: 'the upstream fails',
  rejected: 'the upstream refuses the request',
  malformed_answer: "the upstream's answer cannot be read",
  network: 'the upstream cannot be reached',
  timeout: 'the upstream does not answer in time',
  cancelled: 'the reading was interrupted',
  unfinished: 'it has more pages than one reading takes, and is read on',
  item_unreadable: 'a stored record of it cannot be read',
  failed: 'the bridge failed, and its log says why',
};

/** `reason` is what the poller reports. A reason of a newer poller is shown as it is. */
export function unreadWords(reason: string): string {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason as Reason] : reason;
}
