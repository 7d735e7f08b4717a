/** What the notifier is told by its deployment, and the rule and queue that feed it: code and deployment read it here. */

import * as z from 'zod';
import { EVENT_SOURCE } from '../events/event-names.ts';

/** Which channels hear of which projects; the first route that fits decides. */
const route = z.object({
  /** All projects, and the account itself, when absent. */
  project_ids: z.array(z.string()).min(1).optional(),
  channels: z.array(z.enum(['slack', 'email'])),
  severity_min: z.enum(['info', 'warning', 'critical']).default('info'),
});

/** Alerts of a mute are kept and told when it ends. */
const mute = z.object({
  project_ids: z.array(z.string()).min(1).optional(),
  from: z.iso.datetime(),
  until: z.iso.datetime(),
});

export const alertPolicySchema = z.object({
  routes: z.array(route).default([{ channels: ['slack', 'email'], severity_min: 'info' }]),
  mutes: z.array(mute).max(100).default([]),
  /** More of the same kind within it are told together. */
  window_seconds: z.number().int().min(10).max(3_600).default(300),
});

export type AlertPolicy = z.output<typeof alertPolicySchema>;

export const notifierEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  /** Name or ARN of the secret: the URL of an incoming webhook, or JSON of a bot's token and channel; absent: no Slack. */
  SLACK_WEBHOOK_SECRET_ID: z.string().min(1).optional(),
  /** The topic that people subscribe to; absent: no e-mail. */
  ALERT_TOPIC_ARN: z.string().min(1).optional(),
  /** Where the webhook must live; only tests and local runs have another. */
  SLACK_WEBHOOK_ORIGIN: z.url().default('https://hooks.slack.com'),
  /** JSON of the alert policy. */
  ALERT_POLICY: z.string().default('{}'),
  CONSOLE_BASE_URL: z.url().optional(),
  RUNBOOK_URL: z.url().optional(),
  POWERTOOLS_SERVICE_NAME: z.string().default('notifier'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type NotifierEnvironment = z.infer<typeof notifierEnvironment>;

/** Failures, their ends and the account's health; ordinary progress and replays wake nobody. */
export const alertRulePattern = {
  source: [EVENT_SOURCE],
  'replay-name': [{ exists: false }],
  $or: [
    { 'detail-type': ['Operation State Changed'], detail: { status: ['failed', 'error'] } },
    { 'detail-type': ['Operation State Changed'], detail: { new_failures: [{ numeric: ['>', 0] }] } },
    {
      'detail-type': ['Operation State Changed'],
      detail: { status: ['finished', 'cancelled', 'skipped'], failures_count: [{ numeric: ['>', 0] }] },
    },
    {
      'detail-type': ['Operation Stalled', 'Operation Watch Ended', 'Account Degraded', 'Account Recovered'],
    },
  ],
} as const;

/** AWS asks for a visibility time-out of six times the function's own (Lambda guide, "Using SQS"). */
export const notifierQueue = {
  visibilityTimeoutMs: 360_000,
  receiveCountMax: 5,
  batchSize: 10,
} as const;

/** The sweep tells digests whose window has closed and what an outage left untold. */
export const notifierSchedule = { everyMs: 60_000, timeoutMs: 60_000 } as const;
