/**
 * Defines a page: one trouble for which PagerDuty wakes a person, what the notifier remembers of it until it has ended,
 * and the secret of the channel, by which PagerDuty says that a person has acknowledged a page.
 */

import * as z from 'zod';
import { GRAVITIES, type IncidentRecord, isOpen } from './incidents.ts';

const page = z.object({
  /** PagerDuty knows the page by this `dedup_key`. */
  key: z.string(),
  account_id: z.string(),
  /** These incidents are the trouble: one, or many that probably have one cause. */
  incident_ids: z.array(z.string()),
  is_of_many: z.boolean(),
  /** The gravest trouble of the page. Gravity and severity only rise while the page is open. */
  gravity: z.enum(GRAVITIES),
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
