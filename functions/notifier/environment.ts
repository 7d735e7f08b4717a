/** The notifier's environment, which its deployment fills in. */

import * as z from 'zod';
import { channelEnvironment } from './channels/channels.ts';

export const notifierEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  ...channelEnvironment,
  /** JSON of the alert policy. */
  ALERT_POLICY: z.string().default('{}'),
  CONSOLE_BASE_URL: z.url().optional(),
  RUNBOOK_URL: z.url().optional(),
  POWERTOOLS_SERVICE_NAME: z.string().default('notifier'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type NotifierEnvironment = z.infer<typeof notifierEnvironment>;
