/**
 * Behaves like PagerDuty's Events API v2: it checks every field that is documented, limits the rate of an integration,
 * and keeps alerts by their key. It counts whom it would have notified, which is what people notice.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';

export const ROUTING_KEY = '0123456789abcdef0123456789abcdef';

interface Alert {
  readonly key: string;
  status: 'triggered' | 'acknowledged' | 'resolved';
  readonly severity: string;
  readonly summary: string;
  /** Each event that PagerDuty took of the alert stands here, as it came in. */
  readonly log: PagerDutyRequest[];
}

export interface PagerDutyRequest {
  readonly routing_key?: unknown;
  readonly event_action?: unknown;
  readonly dedup_key?: unknown;
  readonly links?: readonly { readonly href?: unknown; readonly text?: unknown }[];
  readonly payload?: {
    readonly summary?: unknown;
    readonly source?: unknown;
    readonly severity?: unknown;
    readonly timestamp?: unknown;
    readonly custom_details?: object;
  };
}

const EVENTS_PER_MINUTE_MAX = 120;
const BODY_BYTES_MAX = 512 * 1_024;

export function createPagerDuty(clock: Pick<Clock, 'now'>) {
  const alerts: Alert[] = [];
  const hosts: string[] = [];
  let takenAtMs: number[] = [];
  let notificationCount = 0;

  const take = (event: PagerDutyRequest): void => {
    const key = String(event.dedup_key);
    const open = alerts.find((alert) => alert.key === key && alert.status !== 'resolved');
    open?.log.push(event);
    if (event.event_action === 'resolve' && open !== undefined) open.status = 'resolved';
    if (event.event_action === 'acknowledge' && open !== undefined) open.status = 'acknowledged';
    if (event.event_action !== 'trigger' || open !== undefined) return;
    const { severity, summary } = event.payload ?? {};
    alerts.push({
      key,
      status: 'triggered',
      severity: String(severity),
      summary: String(summary),
      log: [event],
    });
    notificationCount += 1;
  };

  return {
    alerts,
    /** Each request went to one of these hosts. */
    hosts,
    openAlerts: () => alerts.filter(({ status }) => status !== 'resolved'),
    notificationCount: () => notificationCount,
    acknowledge: (key: string) => {
      const open = alerts.find((alert) => alert.key === key && alert.status === 'triggered');
      if (open !== undefined) open.status = 'acknowledged';
    },
    fetch: async (url: unknown, init?: RequestInit): Promise<Response> => {
      const { host, pathname } = new URL(String(url));
      hosts.push(host);
      if (pathname !== '/v2/enqueue' || init?.method !== 'POST') return new Response('', { status: 404 });
      const text = init.body as string;
      if (Buffer.byteLength(text) > BODY_BYTES_MAX) return new Response('', { status: 413 });
      const event = JSON.parse(text) as PagerDutyRequest;
      const errors = faultsOf(event);
      if (errors.length > 0)
        return answer(400, { status: 'invalid event', message: 'Event object is invalid', errors });
      if (event.routing_key !== ROUTING_KEY)
        return answer(400, { status: 'invalid key', message: 'Invalid routing key', errors: [] });
      takenAtMs = takenAtMs.filter((atMs) => atMs > clock.now() - 60_000);
      if (takenAtMs.length >= EVENTS_PER_MINUTE_MAX) return new Response('', { status: 429 });
      takenAtMs.push(clock.now());
      take(event);
      return answer(202, { status: 'success', message: 'Event processed', dedup_key: event.dedup_key });
    },
  };
}

function answer(status: number, body: object): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
}

function faultsOf({ routing_key, event_action, dedup_key, payload, links = [] }: PagerDutyRequest) {
  const isText = (value: unknown, charactersMax: number) =>
    typeof value === 'string' && value.length > 0 && value.length <= charactersMax;
  const checks: readonly (readonly [boolean, string])[] = [
    [isText(routing_key, 32) && String(routing_key).length === 32, "Length of 'routing_key' is incorrect"],
    [['trigger', 'acknowledge', 'resolve'].includes(String(event_action)), "'event_action' is invalid"],
    [event_action === 'trigger' || isText(dedup_key, 255), "'dedup_key' is missing or blank"],
    [dedup_key === undefined || isText(dedup_key, 255), "'dedup_key' is too long"],
    [links.every(({ href }) => URL.canParse(String(href))), "'links' is invalid"],
  ];
  const { summary, source, severity, timestamp } = payload ?? {};
  const ofTrigger: typeof checks = [
    [isText(summary, 1_024), "'payload.summary' is missing or too long"],
    [isText(source, 10_000), "'payload.source' is missing or blank"],
    [['critical', 'error', 'warning', 'info'].includes(String(severity)), "'payload.severity' is invalid"],
    [
      timestamp === undefined || !Number.isNaN(Date.parse(timestamp as string)),
      "'payload.timestamp' is invalid",
    ],
  ];
  const all = event_action === 'trigger' ? [...checks, ...ofTrigger] : checks;
  return all.filter(([isFine]) => !isFine).map(([, fault]) => fault);
}
