/**
 * Says what the API's function may read and write. It shows records, and writes what a command begins. It must not
 * write how far the poller has read.
 */

import { ACCOUNT_ATTRIBUTES } from '../../shared/accounts/account.ts';
import { INCIDENT_ATTRIBUTES } from '../../shared/alerts/incidents.ts';
import { MUTE_ATTRIBUTES } from '../../shared/alerts/mutes.ts';
import { TOKEN_ATTRIBUTES } from '../../shared/callers/tokens.ts';
import { IDEMPOTENCY_ATTRIBUTES } from '../../shared/commands/idempotency-store.ts';
import { QUEUE_ATTRIBUTES } from '../../shared/commands/queue-store.ts';
import { INSIGHTS_ATTRIBUTES } from '../../shared/insights/day-insights.ts';
import { HOUR_COUNTS_ATTRIBUTES } from '../../shared/insights/hour-counts.ts';
import { STATUS_ATTRIBUTES } from '../../shared/store/account-status-store.ts';
import { PROGRESS_ATTRIBUTES, RECORD_ATTRIBUTES } from '../../shared/store/items.ts';
import { LEDGER_ATTRIBUTES } from '../../shared/store/ledger-store.ts';
import { PROJECT_NAMES_ATTRIBUTES } from '../../shared/store/project-names.ts';
import { FEED_INDEX, LISTED } from '../../shared/store/table.ts';
import { type Access, distinct, KEY, PARKED, WORK } from '../../shared/store/table-access.ts';
import { NUDGE_ATTRIBUTES, REPAIR_ATTRIBUTES, REPLAY_ATTRIBUTES } from '../../shared/store/wishes.ts';
import { ENDED_SESSION_ATTRIBUTES } from './console/sign-in/session.ts';
import { AUDIT_ATTRIBUTES } from './read-model/audit-reader.ts';
import { HELD_ATTRIBUTES } from './serving/waiting.ts';

const RECORDS = Object.values(RECORD_ATTRIBUTES).flat();
const BEGUN = (['operation', 'command', 'branch', 'compute'] as const).flatMap(
  (kind) => RECORD_ATTRIBUTES[kind],
);

/** Only the poller needs these attributes. They say how far it has read, and what it has learned. The API reads the two that say whether a project was read. */
const POLLERS_OWN: ReadonlySet<string> = new Set([
  ...PROGRESS_ATTRIBUTES.filter((name) => name !== 'watermark' && name !== 'swept_at_ms'),
  'learned',
]);

/** Only the poller writes these attributes of an operation, when it reads the operation again. */
const DECIDED_LATER: ReadonlySet<string> = new Set(['stalled_threshold_ms']);

const ACCOUNTS = [...KEY, ...ACCOUNT_ATTRIBUTES, 'stamp'];

export const apiAccess = {
  reads: {
    protocol: distinct([...KEY, ...RECORDS, ...STATUS_ATTRIBUTES, ...PROJECT_NAMES_ATTRIBUTES]).filter(
      (name) => !POLLERS_OWN.has(name),
    ),
    readRequests: distinct([...KEY, ...REPAIR_ATTRIBUTES, ...REPLAY_ATTRIBUTES]),
    alerts: [
      ...KEY,
      'body',
      'outcome',
      'waiting_since_ms',
      'last_reason',
      'pages',
      'notice',
      'outcome_at_ms',
      'reason',
    ],
    tokens: distinct([...KEY, ...TOKEN_ATTRIBUTES]),
    idempotency: distinct([...KEY, ...IDEMPOTENCY_ATTRIBUTES]),
    callers: [...KEY, ...ENDED_SESSION_ATTRIBUTES, ...HELD_ATTRIBUTES],
    audit: [...KEY, ...AUDIT_ATTRIBUTES],
    insights: distinct([...KEY, ...INSIGHTS_ATTRIBUTES, ...HOUR_COUNTS_ATTRIBUTES]),
    mutes: [...KEY, ...MUTE_ATTRIBUTES],
    incidents: [...KEY, ...INCIDENT_ATTRIBUTES],
    accounts: ACCOUNTS,
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
    // What a queued command sends, and the token of a task that waits for it, are for the worker alone.
    queue: [...KEY, ...QUEUE_ATTRIBUTES].filter((name) => name !== 'request' && name !== 'task_token'),
  },
  readsMany: ['protocol', 'alerts', 'audit', 'insights', 'queue', 'mutes', 'incidents'],
  updates: {
    protocol: distinct([...WORK, FEED_INDEX.sortKey, ...BEGUN, ...PARKED]).filter(
      (name) => !DECIDED_LATER.has(name),
    ),
    readRequests: distinct([...WORK, 'asked_at_ms', ...REPAIR_ATTRIBUTES, ...REPLAY_ATTRIBUTES]),
    idempotency: distinct([...KEY, 'kind', 'expires_at', ...IDEMPOTENCY_ATTRIBUTES]),
    audit: [
      ...KEY,
      'kind',
      'expires_at',
      ...LISTED,
      'account_id',
      'generation',
      'by_account_id',
      'request_id',
      'client_id',
      'email',
      'call',
      'project_id',
      'resource',
      'received_at',
      'outcome',
      'status',
      'problem',
      'duration_ms',
      'operation_ids',
    ],
    queue: distinct([...WORK, ...LISTED, ...QUEUE_ATTRIBUTES]),
    // The API stores only alerts that try a channel.
    alerts: [...KEY, 'kind', 'notice', 'expires_at', ...LISTED],
    mutes: distinct([...WORK, ...LISTED, ...MUTE_ATTRIBUTES]),
    incidents: distinct([...WORK, ...LISTED, ...INCIDENT_ATTRIBUTES]),
    accounts: [...ACCOUNTS, 'kind', 'expires_at'],
    usage: [...KEY, ...LEDGER_ATTRIBUTES],
    callers: [...KEY, 'kind', 'expires_at', ...ENDED_SESSION_ATTRIBUTES, ...HELD_ATTRIBUTES],
    lanes: NUDGE_ATTRIBUTES,
  },
} as const satisfies Access;
