/** Defines what the notifier and the API share of the apps of Slack and PagerDuty: their secrets, the buttons under messages, and a page, which is one trouble for which PagerDuty wakes a person. */

import * as z from 'zod';
import { DAY_MS } from '../records/time.ts';
import { GRAVITIES, type IncidentRecord, isOngoing, isOpen } from './incidents.ts';

const page = z.object({
  /** PagerDuty knows the page by this `dedup_key`. */
  key: z.string(),
  account_id: z.string(),
  /** These incidents are the trouble: one, or many that probably have one cause. */
  incident_ids: z.array(z.string()),
  is_of_many: z.boolean(),
  /** The gravest trouble of the page. Gravity and severity only rise while the page is open. */
  gravity: z.enum(GRAVITIES),
  /** What the page has said of each incident that is less grave than the page. */
  gravities: z.record(z.string(), z.enum(GRAVITIES)).optional(),
  severity: z.enum(['info', 'warning', 'critical']),
  opened_at_ms: z.number(),
  /** The latest incident joined it at this time. */
  joined_at_ms: z.number(),
  /** It is about a channel that takes no alerts, which no incident record describes. */
  channel: z.string().optional(),
  /** PagerDuty knows that a person takes care of it. */
  is_acknowledged: z.boolean().optional(),
});

export type Page = Readonly<z.output<typeof page>>;

export const pagesSchema = z.array(page);

/** A page is not resolved before this time has passed, because the table may not show its incidents yet. */
const SETTLED_MS_MIN = 60_000;

/**
 * Returns what PagerDuty has to know of the page: that each incident has recovered, or that a person takes care of all
 * that is left. An incident that is not among the records counts as open.
 */
export function settlementOf(
  { incident_ids, joined_at_ms, is_acknowledged = false }: Page,
  records: ReadonlyMap<string, Pick<IncidentRecord, 'state' | 'acknowledged'>>,
  nowMs: number,
): 'resolve' | 'acknowledge' | undefined {
  if (Math.abs(nowMs - joined_at_ms) < SETTLED_MS_MIN) return undefined;
  const found = incident_ids.map((id) => records.get(id));
  if (found.every((record) => record?.state === 'recovered')) return 'resolve';
  const isCaredFor = found.every(
    (record) => record?.acknowledged !== undefined || record?.state === 'recovered',
  );
  return isCaredFor && !is_acknowledged ? 'acknowledge' : undefined;
}

/** Returns whether something of the page can still change by itself: what was given up and acknowledged has no other end. */
export function isPageOver(
  { incident_ids }: Page,
  records: ReadonlyMap<string, Pick<IncidentRecord, 'state' | 'acknowledged'>>,
): boolean {
  return incident_ids.every((id) => {
    const record = records.get(id);
    return record !== undefined && !isOpen(record);
  });
}

/** A page is remembered for this long after an incident joined it, unless something of it goes on. */
const PAGE_KEPT_MS = 7 * DAY_MS;

/**
 * Returns whether the page is left to the person who resolves it at PagerDuty: nothing of it has gone on for a week, and no
 * record of its incidents will say that it has ended. It would otherwise count as open for ever.
 */
export function isPageForgotten(
  { incident_ids, joined_at_ms }: Page,
  records: ReadonlyMap<string, Pick<IncidentRecord, 'state'>>,
  nowMs: number,
): boolean {
  if (nowMs - joined_at_ms < PAGE_KEPT_MS) return false;
  return !incident_ids.some((id) => isOngoing(records.get(id)?.state ?? 'unknown'));
}

const routingKey = z.string().regex(/^[A-Za-z0-9]{32}$/);

const integration = z.strictObject({
  routing_key: routingKey,
  region: z.enum(['us', 'eu']).default('us'),
  /** PagerDuty signs with it what its webhook sends. Without it acknowledgements at PagerDuty do not reach the bridge. */
  webhook_secret: z.string().min(16).max(200).optional(),
});

export type PagerDutyIntegration = z.output<typeof integration>;

/** Returns the integration of a routing key, or of JSON with one, and undefined for any other text. */
export function pagerDutyIntegrationOf(text: string): PagerDutyIntegration | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return integration.safeParse({ routing_key: trimmed }).data;
  try {
    return integration.safeParse(JSON.parse(trimmed)).data;
  } catch {
    return undefined;
  }
}

/** Slack's ids of people and of workspaces have this form. */
export const SLACK_ID = /^[A-Z0-9]{2,30}$/;

const slackBot = z.strictObject({
  token: z.string().min(10),
  channel: z.string().min(3).max(80),
  /** Slack signs with it what it sends when a button is pressed. Without it messages have no buttons. */
  signing_secret: z.string().min(16).max(200).optional(),
  /** People of these further workspaces may press the buttons, for example in a shared channel. */
  team_ids: z.array(z.string().regex(SLACK_ID)).max(20).default([]),
});

export type SlackBot = z.output<typeof slackBot>;

/** Returns the bot of JSON such as `{"token": "xoxb-...", "channel": "C0123456789"}`, and undefined for any other text. */
export function slackBotOf(text: string): SlackBot | undefined {
  try {
    return slackBot.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** These are the `action_id` of the buttons. A button that opens a page is announced as well, and needs no work. */
export const SLACK_ACTIONS = ['acknowledge', 'mute_1h', 'approve', 'deny', 'open'] as const;

export type SlackAction = (typeof SLACK_ACTIONS)[number];

/** A mute or an acknowledgement by a button has this reason. */
export const SLACK_BUTTON_REASON = 'a button on Slack';

/** Slack takes 2,000 characters as the value of a button. Further incidents of a message are left to the console. */
export const BUTTON_INCIDENTS_MAX = 50;

const incidentId = z.string().regex(/^[0-9a-f]{32}$/);

/** A button has this as its `value`: it names the incidents that it is about, or the call that waits for a person. Those of older messages name one. */
const buttonValue = z
  .object({
    account_id: z.string().min(1),
    incident_id: incidentId.optional(),
    incident_ids: z.array(incidentId).max(BUTTON_INCIDENTS_MAX).default([]),
    approval_id: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .optional(),
  })
  .transform(({ account_id, approval_id, incident_id, incident_ids }) => ({
    account_id,
    approval_id,
    incident_ids: incident_id === undefined ? incident_ids : [incident_id],
  }))
  .refine(({ incident_ids, approval_id }) => incident_ids.length > 0 || approval_id !== undefined);

export type SlackButtonValue = z.output<typeof buttonValue>;

/** Returns undefined for a value that no message of the bridge has. */
export function slackButtonValueOf(text: string): SlackButtonValue | undefined {
  try {
    return buttonValue.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
