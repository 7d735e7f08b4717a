/**
 * Decides which pages PagerDuty gets of a message, in the PagerDuty Common Event Format: one for each trouble, and one
 * for many that begin together. What ends them is read from the records of their incidents.
 */

import { createHash } from 'node:crypto';
import type { Page } from '../../../shared/alerts/channel-apps.ts';
import { GRAVITIES, type Gravity, incidentIdOf, incidentOf } from '../../../shared/alerts/incidents.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/records/time.ts';
import { HIDDEN_MARK, withoutSecretShapes } from '../../../shared/runtime/secret.ts';
import { gravityOf, saysHowItStands } from '../deciding/incident-record.ts';
import {
  type Message,
  type Notice,
  type NoticeKind,
  type Severity,
  TROUBLE_ENDS,
} from '../deciding/notice.ts';
import { rankOf, worstOf } from '../deciding/policy.ts';
import {
  cleanText,
  ERROR_CHARACTERS_MAX,
  headlineOfMany,
  headlineWithError,
  VALUE_CHARACTERS_MAX,
} from '../deciding/text.ts';
import { latestOfEach } from '../deciding/waking.ts';
import { type AlertLinks, factsOf, meaningOf, operationUrl, zonedTime } from '../deciding/wording.ts';

interface Described {
  readonly payload: {
    /** At most 1,024 characters. */
    readonly summary: string;
    readonly source: string;
    readonly severity: Severity;
    readonly timestamp?: string;
    readonly component?: string;
    readonly group: string;
    readonly class: string;
    readonly custom_details: Readonly<Record<string, string | readonly string[]>>;
  };
  readonly client: 'Operations Bridge';
  readonly client_url?: string;
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

/** Describes one trouble. The most severe notice leads, and each operation is named once, with its latest state. */
export function describe(all: readonly Notice[], links: AlertLinks, severity = worstOf(all)): Described {
  const notices = latestOfEach([all]).flat();
  const worst = worstOf(notices);
  const lead = notices.find((notice) => notice.severity === worst);
  if (lead === undefined) throw new Error('A page of PagerDuty needs at least one notice');
  const url = operationUrl(lead, links);
  return {
    payload: {
      ...identityOf(lead),
      summary: summaryOf([lead, ...notices.filter((one) => one !== lead)]),
      severity,
      ...detailsOf(lead, notices, links),
    },
    client: 'Operations Bridge',
    ...(url !== undefined && { client_url: url }),
    links: linksOf(url, links),
  };
}

function summaryOf(notices: readonly Notice[]): string {
  const [lead] = notices;
  return lead !== undefined && notices.length === 1
    ? headlineWithError(lead, shown)
    : headlineOfMany(notices, shown);
}

function identityOf({ kind, account_id, project_id, action, channel, since, observed_at }: Notice) {
  const timestamp = [since, observed_at].find((text) => !Number.isNaN(Date.parse(text ?? '')));
  return {
    source: shown(project_id ?? channel ?? account_id),
    ...(action !== undefined && { component: shown(action) }),
    group: shown(account_id),
    class: kind,
    ...(timestamp !== undefined && { timestamp: new Date(timestamp).toISOString() }),
  };
}

function detailsOf(lead: Notice, notices: readonly Notice[], links: AlertLinks) {
  const facts = factsOf(lead).map(
    ({ label, value, form }) => [label, form === 'time' ? zonedTime(value, links) : shown(value)] as const,
  );
  const error = lead.error === undefined ? {} : { Error: cleanText(lead.error, ERROR_CHARACTERS_MAX) };
  const all = notices.length === 1 ? {} : { Alerts: notices.map(lineOf) };
  return { custom_details: { Meaning: meaningOf(lead), ...Object.fromEntries(facts), ...error, ...all } };
}

function lineOf(notice: Notice): string {
  const operation = notice.operation_id === undefined ? '' : ` [${shown(notice.operation_id)}]`;
  return `${headlineWithError(notice, shown)}${operation}`;
}

function linksOf(url: string | undefined, { runbookUrl }: AlertLinks): Described['links'] {
  return [
    ...(url === undefined ? [] : [{ href: url, text: 'Open in the console' }]),
    ...(runbookUrl === undefined ? [] : [{ href: runbookUrl, text: 'Runbook' }]),
  ];
}

/** PagerDuty refuses an event whose source is empty. */
function shown(text: string, charactersMax = VALUE_CHARACTERS_MAX): string {
  return cleanText(text, charactersMax) || '-';
}

/** This is an event of the Events API v2 without its routing key (PagerDuty developer documentation, "Send an Alert Event"). */
export type PagerDutyEvent =
  | ({ readonly event_action: 'trigger'; readonly dedup_key: string } & Described)
  | { readonly event_action: 'acknowledge' | 'resolve'; readonly dedup_key: string };

/** These wake a person. */
const TROUBLES: ReadonlySet<NoticeKind> = new Set([
  'failed',
  'attempt_failed',
  'account_degraded',
  'channel_deaf',
  'reminder',
  'stalled',
  'given_up',
  'vanished',
  'unreadable',
  'usage',
]);

/** Returns whether a notice of this kind opens or ends a page at PagerDuty. All other kinds are not sent there. */
export function isForPagerDuty({ kind }: { readonly kind: NoticeKind }): boolean {
  return TROUBLES.has(kind) || TROUBLE_ENDS.has(kind);
}

/** This number of troubles of an account have pages of their own within `TOGETHER_MS`. Further ones share a page. */
const PAGES_ALONE_MAX = 2;

/** A person who was woken within this time is awake, so what begins meanwhile joins the page of many. */
const TOGETHER_MS = 10 * MINUTE_MS;

/** What the service probably causes joins a page of many for as long as others have joined it lately. */
const SAME_CAUSE_MS = HOUR_MS;

/** While so many pages are open, whatever begins joins a page of many. */
export const PAGES_MAX = 50;

/** The open pages together remember this many incidents, so that the item of the channel stays small. */
export const PAGED_INCIDENTS_MAX = 2_000;

export interface Paged {
  readonly events: readonly PagerDutyEvent[];
  /** These pages are open after PagerDuty has taken the events. */
  readonly pages: readonly Page[];
}

interface Paging {
  readonly links: AlertLinks;
  readonly nowMs: number;
}

/** What one message says of one incident. */
interface Trouble {
  readonly account_id: string;
  readonly incidentId: string;
  readonly name: string;
  readonly gravity: Gravity;
  readonly notices: readonly Notice[];
  /** An account or a channel is never one of many. */
  readonly isOfProject: boolean;
}

/**
 * Returns the events of a message, each about another page. The same message after the same pages gives the same keys, so
 * that PagerDuty recognises a copy. What became worse opens a page anew and closes the one before, because a page that
 * a person has acknowledged notifies no one again. Where others share that page, it stays open for them.
 */
export function pagerDutyEvents(message: Message, open: readonly Page[], paging: Paging): Paged {
  const troubles = troublesOf(message);
  const before = pagesOf(open);
  const risen = troubles.filter((trouble) => hasOutgrown(trouble, before.get(trouble.incidentId)));
  let paged = withoutIncidents(open, new Set(risen.map(({ incidentId }) => incidentId)));
  const { pages } = paged;
  const known = pagesOf(pages);
  const begun = troubles.filter(({ incidentId, isOfProject }) => isOfProject && !known.has(incidentId));
  const shared = begun.filter((trouble) => joinsOthers(trouble, { begun, open: pages, nowMs: paging.nowMs }));
  const others = troubles.filter((trouble) => !shared.includes(trouble));
  const again = Map.groupBy(others, ({ incidentId }) => known.get(incidentId));
  for (const [page, own] of again)
    if (page?.is_of_many) paged = withMany(paged, { own, page, ...paging });
    else for (const trouble of own) paged = withOne(paged, { trouble, page, ...paging });
  const together = Map.groupBy(shared, (trouble) => `${trouble.account_id} ${risen.includes(trouble)}`);
  for (const own of together.values()) {
    // What became worse joins no page that was about less, and not the one that it has left.
    const worse = own.filter((one) => risen.includes(one));
    const joinable = paged.pages.filter(
      ({ key, gravity }) =>
        !worse.some((one) => isGraver(one, gravity) || before.get(one.incidentId)?.key === key),
    );
    paged = withMany(paged, { own, page: manyOf(joinable, { own, nowMs: paging.nowMs }), ...paging });
  }
  return paged;
}

function pagesOf(open: readonly Page[]): ReadonlyMap<string, Page> {
  return new Map(open.flatMap((one) => one.incident_ids.map((id) => [id, one] as const)));
}

/** Returns whether the trouble is worse than what the page that it shares with others has said of it. */
function hasOutgrown(trouble: Trouble, page: Page | undefined): boolean {
  return page?.is_of_many === true && isGraver(trouble, gravityOn(page, trouble.incidentId));
}

function isGraver({ gravity }: Trouble, than: Gravity): boolean {
  return GRAVITIES.indexOf(gravity) > GRAVITIES.indexOf(than);
}

function gravityOn({ gravity, gravities = {} }: Page, incidentId: string): Gravity {
  return gravities[incidentId] ?? gravity;
}

/** Takes these incidents out of their pages. A page of which nothing is left is closed. */
function withoutIncidents(open: readonly Page[], gone: ReadonlySet<string>): Paged {
  const left = open.map((page) => ({
    ...page,
    incident_ids: page.incident_ids.filter((id) => !gone.has(id)),
  }));
  const isEmpty = ({ incident_ids }: Page) => incident_ids.length === 0;
  return {
    events: left.filter(isEmpty).map(({ key }) => ({ event_action: 'resolve', dedup_key: key })),
    pages: left.filter((page) => !isEmpty(page)),
  };
}

function troublesOf(message: Message): readonly Trouble[] {
  const notices = latestOfEach(message)
    .flat()
    .filter(({ kind, has_ended }) => TROUBLES.has(kind) && !has_ended);
  return [...Map.groupBy(notices, incidentOf)].map(([name, own]) => ({
    account_id: own[0]?.account_id ?? '',
    incidentId: incidentIdOf(name),
    name,
    gravity: worstGravity(own.map(gravityOf)),
    notices: own,
    isOfProject: own.every(({ project_id }) => project_id !== undefined),
  }));
}

function worstGravity(gravities: readonly Gravity[]): Gravity {
  return GRAVITIES.findLast((gravity) => gravities.includes(gravity)) ?? 'failing';
}

interface Beginning {
  readonly begun: readonly Trouble[];
  readonly open: readonly Page[];
  readonly nowMs: number;
}

function joinsOthers(trouble: Trouble, { begun, open, nowMs }: Beginning): boolean {
  const { account_id } = trouble;
  if (isByService(trouble) || open.length >= PAGES_MAX) return true;
  const own = open.filter((one) => one.account_id === account_id && nowMs - one.opened_at_ms < TOGETHER_MS);
  const aloneCount = begun.filter((one) => one.account_id === account_id && !isByService(one)).length;
  return own.some((one) => one.is_of_many) || own.length + aloneCount > PAGES_ALONE_MAX;
}

function isByService({ notices }: Trouble): boolean {
  return notices.some(({ alike }) => alike?.is_service);
}

/** Returns the page of many that these join, and undefined when they open one. */
function manyOf(
  pages: readonly Page[],
  { own, nowMs }: { readonly own: readonly Trouble[]; readonly nowMs: number },
): Page | undefined {
  const many = pages.findLast((one) => one.is_of_many && one.account_id === own[0]?.account_id);
  if (many === undefined) return undefined;
  const isJoined =
    nowMs - many.opened_at_ms < TOGETHER_MS ||
    (own.some(isByService) && nowMs - many.joined_at_ms < SAME_CAUSE_MS) ||
    pages.length >= PAGES_MAX;
  return isJoined ? many : undefined;
}

function withMany(
  { events, pages }: Paged,
  { own, page, links, nowMs }: { readonly own: readonly Trouble[]; readonly page: Page | undefined } & Paging,
): Paged {
  const notices = own.flatMap((trouble) => trouble.notices);
  const account_id = own[0]?.account_id ?? '';
  const before = page?.incident_ids ?? [];
  const room = PAGED_INCIDENTS_MAX - pages.reduce((sum, one) => sum + one.incident_ids.length, 0);
  const added = own.map(({ incidentId }) => incidentId).filter((id) => !before.includes(id));
  const severity = worstSeverity(page?.severity ?? 'info', worstOf(notices));
  const incident_ids = [...before, ...added.slice(0, Math.max(0, room))];
  const gravity = worstGravity([...(page ? [page.gravity] : []), ...own.map((one) => one.gravity)]);
  const said = new Map<string, Gravity>(page && before.map((id) => [id, gravityOn(page, id)]));
  for (const one of own)
    said.set(one.incidentId, worstGravity([one.gravity, said.get(one.incidentId) ?? one.gravity]));
  const less = incident_ids.flatMap((id) => {
    const ofOne = said.get(id) ?? gravity;
    return ofOne === gravity ? [] : [[id, ofOne] as const];
  });
  const next: Page = {
    key: page?.key ?? dedupKeyOf([account_id, 'many', sinceOf(notices)], links),
    account_id,
    incident_ids,
    is_of_many: true,
    gravity,
    ...(less.length > 0 && { gravities: Object.fromEntries(less) }),
    severity,
    opened_at_ms: page?.opened_at_ms ?? nowMs,
    joined_at_ms: added.length > 0 ? nowMs : (page?.joined_at_ms ?? nowMs),
    ...(page?.is_acknowledged && { is_acknowledged: true }),
  };
  const trigger = {
    event_action: 'trigger',
    dedup_key: next.key,
    ...describe(notices, links, severity),
  } as const;
  return { events: [...events, trigger], pages: [...pages.filter((one) => one !== page), next] };
}

function withOne(
  { events, pages }: Paged,
  { trouble, page, links, nowMs }: { readonly trouble: Trouble; readonly page: Page | undefined } & Paging,
): Paged {
  const { account_id, incidentId, name, notices } = trouble;
  const gravity = worstGravity([trouble.gravity, ...(page ? [page.gravity] : [])]);
  const isWorse = page !== undefined && gravity !== page.gravity;
  const severity = worstSeverity(page?.severity ?? 'info', worstOf(notices));
  const channel = notices[0]?.channel;
  const isSame = page !== undefined && !isWorse;
  const key = isSame ? page.key : dedupKeyOf([name, gravity, sinceOf(notices)], links);
  const trigger = { event_action: 'trigger', dedup_key: key, ...describe(notices, links, severity) } as const;
  const resolve = isWorse ? [{ event_action: 'resolve', dedup_key: page.key } as const] : [];
  const next: Page = {
    key,
    account_id,
    incident_ids: [incidentId],
    is_of_many: false,
    gravity,
    severity,
    opened_at_ms: isSame ? page.opened_at_ms : nowMs,
    joined_at_ms: nowMs,
    ...(channel !== undefined && { channel }),
    ...(isSame && page.is_acknowledged && { is_acknowledged: true }),
  };
  // Nothing that the bridge sees ends what it could not read, so a person resolves that page.
  const isRemembered =
    page !== undefined || notices.some((one) => saysHowItStands(one) || one.kind === 'reminder');
  const left = pages.filter((one) => one !== page);
  return { events: [...events, trigger, ...resolve], pages: isRemembered ? [...left, next] : left };
}

/** A page that was closed or forgotten is open at PagerDuty under its old key, so the key says when the trouble was seen. */
function sinceOf(notices: readonly Notice[]): string {
  return notices.map(({ observed_at }) => observed_at).toSorted()[0] ?? '';
}

function worstSeverity(a: Severity, b: Severity): Severity {
  return rankOf(a) > rankOf(b) ? a : b;
}

/** PagerDuty takes this many characters (PagerDuty developer documentation, "Send an Alert Event"). */
const DEDUP_KEY_CHARACTERS_MAX = 255;

/**
 * Returns the key by which PagerDuty recognises a page, hashed when it is too long or looks like a secret. The console's
 * host is a part of it, so that two bridges that share a routing key do not resolve each other's pages.
 */
function dedupKeyOf(parts: readonly string[], { consoleBaseUrl }: AlertLinks): string {
  const host = URL.parse(consoleBaseUrl ?? '')?.host ?? 'operations-bridge';
  const key = [host, ...parts].join('|');
  const isPlain = key.length <= DEDUP_KEY_CHARACTERS_MAX && withoutSecretShapes(key, HIDDEN_MARK) === key;
  return isPlain ? key : createHash('sha256').update(key).digest('hex');
}
