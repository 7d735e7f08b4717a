/**
 * Defines the notifier's environment, which its deployment fills in, the alert policy of this bridge, and how the
 * notifier is invoked: by its queue and by a schedule.
 */

import * as z from 'zod';
import { CHANNEL_NAMES, channelEnvironment } from './channels/channels.ts';
import { alertPolicyFor } from './deciding/policy.ts';

export const alertPolicySchema = alertPolicyFor(CHANNEL_NAMES);

export const notifierEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  ...channelEnvironment,
  /** The variable holds the alert policy as JSON. */
  ALERT_POLICY: z.string().default('{}'),
  CONSOLE_BASE_URL: z.url().optional(),
  RUNBOOK_URL: z.url().optional(),
  POWERTOOLS_SERVICE_NAME: z.string().default('notifier'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type NotifierEnvironment = z.infer<typeof notifierEnvironment>;

/** AWS asks for a visibility time-out of six times the function's own (Lambda Developer Guide, "Using Lambda with Amazon SQS"). */
export const notifierQueue = {
  visibilityTimeoutMs: 360_000,
  receiveCountMax: 5,
  batchSize: 10,
} as const;

/** The sweep reports digests whose window has closed, and what an outage left unreported. */
export const notifierSchedule = { everyMs: 60_000, timeoutMs: 60_000 } as const;

/** A message that begins within this time has 25 s for its answer, and is noted before the function's 60 s are over. */
export const SEND_BUDGET_MS = 28_000;
