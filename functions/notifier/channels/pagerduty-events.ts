/**
 * Decides which events PagerDuty gets of a message, in the PagerDuty Common Event Format: what is failing or takes
 * too long opens an alert that its end resolves.
 */

import { createHash } from 'node:crypto';
import { incidentOf } from '../../../shared/alerts/alert-items.ts';
import { GRAVITIES, type Gravity, type Operations, type Standing } from '../../../shared/alerts/incidents.ts';
import { HIDDEN_MARK, withoutSecretShapes } from '../../../shared/runtime/secret.ts';
import { noteOperations } from '../deciding/incident-record.ts';
import type { Message } from '../deciding/message-plan.ts';
import type { Notice, NoticeKind, Severity } from '../deciding/notice.ts';
import { worstOf } from '../deciding/policy.ts';
import { latestOfEach } from '../deciding/waking.ts';
import { cleanText, ERROR_CHARACTERS_MAX, VALUE_CHARACTERS_MAX } from '../wording/clean-text.ts';
import {
  type AlertLinks,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  projectWordsOf,
  titleOf,
} from '../wording/wording.ts';
import type { OperationsByIncident } from './channel.ts';

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

/** Describes notices of one incident. The most severe one leads, and each operation is named once, with its latest state. */
export function describe(all: readonly Notice[], links: AlertLinks): Described {
  const notices = latestOfEach([all]).flat();
  const severity = worstOf(notices);
  const lead = notices.find((notice) => notice.severity === severity);
  if (lead === undefined) throw new Error('An alert at PagerDuty needs at least one notice');
  const url = operationUrl(lead, links);
  return {
    payload: {
      ...identityOf(lead),
      summary: summaryOf(lead, notices),
      severity,
      ...detailsOf(lead, notices),
    },
    client: 'Operations Bridge',
    ...(url !== undefined && { client_url: url }),
    links: linksOf(url, links),
  };
}

function summaryOf(lead: Notice, notices: readonly Notice[]): string {
  const more = notices.length === 1 ? '' : ` (${notices.length} alerts)`;
  return `${titleOf(lead)}: ${shown(placeOf(lead))}${more}`;
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

function detailsOf(lead: Notice, notices: readonly Notice[]) {
  const facts = factsOf(lead).map(({ label, value }) => [label, shown(value)] as const);
  const error = lead.error === undefined ? {} : { Error: cleanText(lead.error, ERROR_CHARACTERS_MAX) };
  const all = notices.length === 1 ? {} : { Alerts: notices.map(lineOf) };
  return { custom_details: { Meaning: meaningOf(lead), ...Object.fromEntries(facts), ...error, ...all } };
}

function lineOf(notice: Notice): string {
  const place = projectWordsOf(notice, cleanText) ?? shown(placeOf(notice));
  const operation = notice.operation_id === undefined ? '' : ` ${shown(notice.operation_id)}`;
  return `${titleOf(notice)}: ${place}${operation}`;
}

function linksOf(url: string | undefined, { runbookUrl }: AlertLinks): Described['links'] {
  return [
    ...(url === undefined ? [] : [{ href: url, text: 'Open the operation' }]),
    ...(runbookUrl === undefined ? [] : [{ href: runbookUrl, text: 'Runbook' }]),
  ];
}

/** PagerDuty refuses an event whose source is empty. */
function shown(text: string): string {
  return cleanText(text, VALUE_CHARACTERS_MAX) || '-';
}

/** This is an event of the Events API v2 without its routing key (PagerDuty developer documentation, "Send an Alert Event"). */
export type PagerDutyEvent =
  | ({ readonly event_action: 'trigger'; readonly dedup_key: string } & Described)
  | { readonly event_action: 'acknowledge' | 'resolve'; readonly dedup_key: string };

/**
 * One incident of the bridge has up to four alerts at PagerDuty. An alert that a person has acknowledged notifies no
 * one again, so what is worse than it opens another one.
 */
const MATTERS = ['failing', 'stalled', 'failing-critical', 'person'] as const;

type Matter = (typeof MATTERS)[number];

const FAILING_MATTERS: readonly Matter[] = ['failing', 'failing-critical'];

/** An alert is about what is this grave at least. */
const GRAVITY_OF: Record<Matter, Gravity> = {
  failing: 'failing',
  stalled: 'stalled',
  'failing-critical': 'repeated',
  person: 'given_up',
};

const FAILING: ReadonlySet<NoticeKind> = new Set([
  'failed',
  'attempt_failed',
  'account_degraded',
  'channel_deaf',
  'reminder',
]);

/** The bridge sees nothing afterwards that would make these good, so a person resolves the alert. */
const NEEDS_A_PERSON: ReadonlySet<NoticeKind> = new Set(['given_up', 'vanished', 'unreadable']);

/** After these the operation, the account or the channel fails no longer. */
const ENDS: ReadonlySet<NoticeKind> = new Set([
  'recovered',
  'cancelled',
  'stall_ended',
  'account_recovered',
  'channel_back',
  'given_up',
  'vanished',
]);

/** Returns whether PagerDuty gets such a notice at all. A digest and a first sight are about nothing that is open. */
export function isForPagerDuty({ kind }: Pick<Notice, 'kind'>): boolean {
  const isNews = kind === 'acknowledged' || kind === 'stalled';
  return isNews || FAILING.has(kind) || NEEDS_A_PERSON.has(kind) || ENDS.has(kind);
}

/**
 * Returns the events of a message, each about another alert. `operations` says how each incident stood before the
 * message. The same message gives the same keys, so that PagerDuty recognises a copy.
 */
export function pagerDutyEvents(
  message: Message,
  operations: OperationsByIncident,
  links: AlertLinks,
): readonly PagerDutyEvent[] {
  return [...Map.groupBy(message.flat(), incidentOf)].flatMap(([incident, notices]) =>
    eventsOfIncident(incident, { notices, before: operations.get(incident) ?? {} }, links),
  );
}

interface IncidentNews {
  readonly notices: readonly Notice[];
  readonly before: Operations;
}

function eventsOfIncident(
  incident: string,
  { notices, before }: IncidentNews,
  links: AlertLinks,
): readonly PagerDutyEvent[] {
  const after = noteOperations(before, notices);
  const [isFailing, isStalled] = [hasState(after, 'failing'), hasState(after, 'stalled')];
  const failing = notices.filter(({ kind, has_ended }) => FAILING.has(kind) && !has_ended);
  const givenUp = notices.filter(({ kind }) => NEEDS_A_PERSON.has(kind));
  const trigger = (matter: Matter, about: readonly Notice[]): PagerDutyEvent => ({
    event_action: 'trigger',
    dedup_key: dedupKeyOf(incident, matter, links),
    ...describe(about, links),
  });
  // PagerDuty drops such an event when the alert is not open, so alerts are changed without knowing which are open.
  const change = (event_action: 'acknowledge' | 'resolve', matter: Matter): PagerDutyEvent => ({
    event_action,
    dedup_key: dedupKeyOf(incident, matter, links),
  });
  const isOver = !isFailing && (hasState(before, 'failing') || notices.some(({ kind }) => ENDS.has(kind)));
  const stalled = notices.filter(({ kind }) => kind === 'stalled');
  return [
    ...(givenUp.length > 0 ? [trigger('person', givenUp)] : []),
    ...(isFailing && failing.length > 0
      ? [trigger(worstOf(failing) === 'critical' ? 'failing-critical' : 'failing', failing)]
      : []),
    ...(isStalled && stalled.length > 0 ? [trigger('stalled', stalled)] : []),
    ...FAILING_MATTERS.filter(() => isOver).map((matter) => change('resolve', matter)),
    ...(hasState(before, 'stalled') && !isStalled ? [change('resolve', 'stalled')] : []),
    ...acknowledgedMatters(notices)
      .filter((matter) => !(isOver && FAILING_MATTERS.includes(matter)))
      .map((matter) => change('acknowledge', matter)),
  ];
}

function hasState(operations: Operations, wanted: Standing['state']): boolean {
  return Object.values(operations).some(({ state }) => state === wanted);
}

/**
 * Returns the alerts that a person has acknowledged at the bridge: those that were known then. What is worse goes on
 * waking people.
 */
function acknowledgedMatters(notices: readonly Notice[]): readonly Matter[] {
  const acknowledged = notices.filter(({ kind }) => kind === 'acknowledged');
  const ranks = acknowledged.map(({ acknowledged_gravity = 'failing' }) =>
    GRAVITIES.indexOf(acknowledged_gravity),
  );
  const most = Math.max(-1, ...ranks);
  // An account has no operation that could fail three times, and is critical at once.
  const isOfAccount = acknowledged.some(({ project_id }) => project_id === undefined);
  return MATTERS.filter(
    (matter) =>
      GRAVITIES.indexOf(GRAVITY_OF[matter]) <= most || (isOfAccount && FAILING_MATTERS.includes(matter)),
  );
}

/** PagerDuty takes this many characters (PagerDuty developer documentation, "Send an Alert Event"). */
const DEDUP_KEY_CHARACTERS_MAX = 255;

/**
 * Returns the key by which PagerDuty recognises an alert, hashed when it is too long or looks like a secret. The console's host is a part of it, so that two bridges that
 * share a routing key do not resolve each other's alerts.
 */
function dedupKeyOf(incident: string, matter: Matter, { consoleBaseUrl }: AlertLinks): string {
  const host = URL.parse(consoleBaseUrl ?? '')?.host ?? 'operations-bridge';
  const key = `${host}|${incident}|${matter}`;
  const isPlain = key.length <= DEDUP_KEY_CHARACTERS_MAX && withoutSecretShapes(key, HIDDEN_MARK) === key;
  return isPlain ? key : `${createHash('sha256').update(key).digest('hex')}|${matter}`;
}
