/** Defines which events the bus hands to the notifier. `noticeOf` then decides which of them make a notice. */

import { EVENT_SOURCE } from '../../../../shared/events/event-names.ts';

/** The pattern takes failures, their ends and the account's health, and leaves out ordinary progress and replays. */
export const alertRulePattern = {
  source: [EVENT_SOURCE],
  // The archive marks its replays by a name, and the bridge marks its own by a resource.
  'replay-name': [{ exists: false }],
  resources: [{ exists: false }],
  $or: [
    { 'detail-type': ['Operation State Changed'], detail: { status: ['failed', 'error'] } },
    { 'detail-type': ['Operation State Changed'], detail: { new_failures: [{ numeric: ['>', 0] }] } },
    {
      'detail-type': ['Operation State Changed'],
      detail: { status: ['finished', 'cancelled', 'skipped'], failures_count: [{ numeric: ['>', 0] }] },
    },
    { 'detail-type': ['Operation State Changed'], detail: { was_stalled: [true] } },
    {
      'detail-type': [
        'Operation Stalled',
        'Operation Watch Ended',
        'Account Watched',
        'Account Degraded',
        'Account Recovered',
      ],
    },
  ],
} as const;
