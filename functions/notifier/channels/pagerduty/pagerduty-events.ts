/**
 * Decides which events PagerDuty gets of a message: what is failing or takes too long opens an alert that its end resolves,
 * and what was given up opens one that a person resolves.
 */

import { createHash } from 'node:crypto';
import { incidentOf } from '../../../../shared/alerts/incident-key.ts';
import {
  GRAVITIES,
  type Gravity,
  type Operations,
  type Standing,
} from '../../../../shared/alerts/incidents/incident-record.ts';
import { HIDDEN_MARK, withoutSecretShapes } from '../../../../shared/runtime/secret-shapes.ts';
import { noteOperations } from '../../deciding/incidents/operation-standing.ts';
import type { Message } from '../../deciding/messages/message-plan.ts';
import type { Notice, NoticeKind } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import type { AlertLinks } from '../../wording/wording.ts';
import type { OperationsByIncident } from '../kind/channel.ts';
import { type Described, describe } from './describe-alert.ts';

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
