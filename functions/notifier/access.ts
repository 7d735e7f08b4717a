/**
 * Defines what the notifier reads and writes in the table: its notices, incidents and channels, what is usual, what is muted, which accounts were removed, and which
 * projects have moved.
 */

import { INCIDENT_ATTRIBUTES } from '../../shared/alerts/incidents.ts';
import { MUTE_ATTRIBUTES } from '../../shared/alerts/mutes.ts';
import { INSIGHTS_ATTRIBUTES } from '../../shared/insights/day-insights.ts';
import { HOUR_COUNTS_ATTRIBUTES } from '../../shared/insights/hour-counts.ts';
import { PROJECT_NAMES_ATTRIBUTES } from '../../shared/store/project-names.ts';
import { LIST_INDEX, LISTED } from '../../shared/store/table.ts';
import { type Access, distinct, KEY, WORK } from '../../shared/store/table-access.ts';
import { channelItem } from './channel-memory.ts';

const INCIDENT = ['revision', 'body'] as const;
const CHANNEL = ['revision', ...channelItem.keyof().options] as const;
const NOTICE = ['notice', 'outcome'] as const;
const NOTICE_END = ['outcome_at_ms', 'reason'] as const;
const PARKED_ALERT = ['reason', 'notice_ids'] as const;

export const notifierAccess = {
  reads: {
    alerts: distinct([...KEY, LIST_INDEX.sortKey, ...INCIDENT, ...CHANNEL, ...NOTICE]),
    insights: distinct([...KEY, ...INSIGHTS_ATTRIBUTES, ...HOUR_COUNTS_ATTRIBUTES]),
    mutes: [...KEY, ...MUTE_ATTRIBUTES],
    protocol: [...KEY, ...PROJECT_NAMES_ATTRIBUTES, 'moved_to'],
    incidents: [...KEY, ...INCIDENT_ATTRIBUTES],
    accounts: [...KEY, 'state'],
  },
  readsMany: ['alerts', 'insights', 'mutes', 'incidents'],
  updates: {
    alerts: distinct([
      ...WORK,
      ...LISTED,
      ...INCIDENT,
      ...CHANNEL,
      ...NOTICE,
      ...NOTICE_END,
      ...PARKED_ALERT,
    ]),
    incidents: distinct([...WORK, ...LISTED, ...INCIDENT_ATTRIBUTES]),
  },
} as const satisfies Access;
