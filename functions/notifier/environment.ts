/** Defines the notifier's environment, which its deployment fills in. */

import * as z from 'zod';
import { channelEnvironment } from './channels/channels.ts';

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
