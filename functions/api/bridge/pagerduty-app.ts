/**
 * Takes what PagerDuty's webhook (v3) sends: a person who acknowledges a page there has
 * acknowledged its incidents here, and one who resolves it has acknowledged what was given up.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import { type Page, pagerDutyIntegrationOf, pagesSchema } from '../../../shared/alerts/channel-apps.ts';
import { type IncidentStore, isOngoing, isOpen, keyPart } from '../../../shared/alerts/incidents.ts';
import { DAY_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { oneLine, parseJson } from '../../../shared/runtime/foreign-text.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { alertChannelKey, webhookEventKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { notFound, Problem } from '../serving/problem.ts';
import { readCapped } from '../serving/read-request.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { answerTo } from '../serving/serve-route.ts';
import type { CallRoute } from './slack-app.ts';

export interface PagerDutyDeps {
  /** Resolves to the secret of the channel. It is undefined when no PagerDuty is set up. */
  readonly pagerDutySecret: (() => Promise<Secret>) | undefined;
  readonly callRoute: CallRoute;
  readonly incidentStores: PerAccount<IncidentStore>;
  readonly table: Table;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly newId: () => string;
}

/** An event of PagerDuty takes a few kilobytes. */
const BODY_BYTES_MAX = 100_000;

/** Returns the app, which must be mounted at `/bridge/v1/pagerduty`. PagerDuty calls `/webhook` under it. */
export function createPagerDutyApp(deps: PagerDutyDeps): Hono {
  const app = new Hono();
  app.post('/webhook', async (c) => {
    const { status, headers, body } = await answerTo(deps, deps.newId(), () => take(deps, c));
    const text = body === undefined ? null : JSON.stringify(body);
    return new Response(text, { status, ...(headers && { headers: { ...headers } }) });
  });
  return app;
}

async function take(deps: PagerDutyDeps, c: Context): Promise<ApiAnswer> {
  const event = eventOf(await signedBody(deps, c));
  if (event === undefined || (await isTaken(deps, event))) return { status: 200 };
  const page = await pageOf(deps.table, event.incidentKey);
  if (page !== undefined) await acknowledge(deps, page, event);
  await noteTaken(deps, event);
  return { status: 200 };
}

/** Rejects with `Problem` when PagerDuty's webhook is not set up, or did not send this. */
async function signedBody({ pagerDutySecret, telemetry }: PagerDutyDeps, c: Context): Promise<string> {
  if (pagerDutySecret === undefined) throw notFound();
  const signatures = c.req.header('x-pagerduty-signature');
  if (signatures === undefined) throw notSigned();
  const { webhook_secret } = pagerDutyIntegrationOf((await pagerDutySecret()).reveal()) ?? {};
  if (webhook_secret === undefined) throw notFound();
  const bytes = await readCapped(c.req.raw, BODY_BYTES_MAX);
  if (bytes.length > BODY_BYTES_MAX)
    throw new Problem('body-too-large', { detail: 'PagerDuty sends less than this.' });
  if (isSigned(bytes, signatures, webhook_secret)) return Buffer.from(bytes).toString();
  telemetry.log('warn', 'pagerduty.refused', { reason: 'signature' });
  throw notSigned();
}

function notSigned(): Problem {
  return new Problem('unauthenticated', {
    detail: 'No signature of this request is by the webhook of PagerDuty.',
  });
}

/** While its secret is replaced, PagerDuty signs by both. Each comparison takes a time that does not depend on where they differ. */
function isSigned(bytes: Uint8Array, signatures: string, secret: string): boolean {
  const expected = Buffer.from(`v1=${createHmac('sha256', secret).update(bytes).digest('hex')}`);
  return signatures
    .slice(0, 2_000)
    .split(',')
    .map((one) => Buffer.from(one.trim()))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

/** What the bridge acknowledges itself comes back with an integration as its agent. */
const sent = z.looseObject({
  event: z.looseObject({
    id: z.string().min(1).max(200),
    event_type: z.enum(['incident.acknowledged', 'incident.resolved']),
    occurred_at: z.iso.datetime(),
    agent: z.looseObject({
      type: z.enum(['user_reference', 'user']),
      id: z.string().regex(/^[A-Z0-9]{1,40}$/),
      summary: z.string().optional(),
    }),
    data: z.looseObject({ incident_key: z.string().min(1).max(255) }),
  }),
});

interface Acknowledgement {
  readonly id: string;
  readonly atMs: number;
  readonly incidentKey: string;
  /** The audit names the person by this: `pagerduty:` and the user id. */
  readonly clientId: string;
  readonly reason: string;
  /** A person has resolved the page. What goes on at the upstream is not ended by that. */
  readonly isResolved: boolean;
}

/** Returns undefined for what needs no work: another event, or one that no person has caused. */
function eventOf(text: string): Acknowledgement | undefined {
  const { event } = sent.safeParse(parseJson(text)).data ?? {};
  if (event === undefined) return undefined;
  const { id, event_type, occurred_at, agent, data } = event;
  const isResolved = event_type === 'incident.resolved';
  const name = oneLine(agent.summary ?? '')
    .slice(0, 60)
    .trim();
  return {
    id,
    atMs: Date.parse(occurred_at),
    incidentKey: data.incident_key,
    clientId: `pagerduty:${agent.id}`,
    reason: `${isResolved ? 'resolved' : 'acknowledged'} at PagerDuty${name === '' ? '' : ` by ${name}`}`,
    isResolved,
  };
}

/** PagerDuty gives up after some hours. What is older is a copy that somebody has kept. */
const AGE_MS_MAX = DAY_MS;

/** An event is remembered for longer than it is taken. */
const REMEMBERED_MS = 3 * DAY_MS;

/** A copy of an event changes nothing, also when the acknowledgement was withdrawn meanwhile. */
async function isTaken({ table, clock }: PagerDutyDeps, { id, atMs }: Acknowledgement): Promise<boolean> {
  if (Math.abs(clock.now() - atMs) > AGE_MS_MAX) return true;
  return (await table.get(webhookEventKey(keyPart(id)))) !== undefined;
}

/** An acknowledgement is remembered only when its work is done. If the table refuses something before, PagerDuty sends it again. */
async function noteTaken({ table, clock }: PagerDutyDeps, { id }: Acknowledgement): Promise<void> {
  const expires_at = Math.ceil((clock.now() + REMEMBERED_MS) / 1_000);
  await table.update({ key: webhookEventKey(keyPart(id)), set: { kind: 'webhook_event', expires_at } });
}

async function pageOf(table: Table, key: string): Promise<Page | undefined> {
  const item = await table.get(alertChannelKey('pagerduty'));
  return pagesSchema.safeParse(item?.['pages']).data?.find((page) => page.key === key);
}

/** Of a page for many incidents, this number is acknowledged at once. */
const AT_ONCE = 10;

/** An incident that somebody has acknowledged before keeps that name. */
async function acknowledge(
  { incidentStores, callRoute }: PagerDutyDeps,
  { account_id, incident_ids }: Page,
  { clientId, reason, isResolved }: Acknowledgement,
): Promise<void> {
  const records = (await incidentStores.get(account_id)?.readMany(incident_ids)) ?? [];
  const left = records.filter(
    (record) =>
      isOpen(record) && record.acknowledged === undefined && !(isResolved && isOngoing(record.state)),
  );
  const caller = {
    client_id: clientId,
    account_id,
    scopes: new Set(['alerts:mute'] as const),
    projectIds: undefined,
  };
  await forEachConcurrently(left, AT_ONCE, async ({ incident_id }) => {
    const { status } = await callRoute('acknowledgeIncident', {
      caller,
      ids: { incident_id },
      body: { reason },
    });
    // What has ended in the meantime needs nobody. Anything else is asked again when PagerDuty sends the event again.
    if (status >= 500) throw new Error(`The acknowledgement is answered with ${status}`);
  });
}
