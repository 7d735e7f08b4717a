/**
 * Derives the record of an incident, which all channels share, from what the notifier hears of its operations, and
 * decides what follows when a person takes care of it.
 */

import * as z from 'zod';
import {
  GRAVITIES,
  type Gravity,
  type IncidentRecord,
  incidentIdOf,
  incidentOf,
  isOngoing,
  isOpen,
  type Operations,
  type Standing,
} from '../../../shared/alerts/incidents.ts';
import { isActive, isInScope, type Mute } from '../../../shared/alerts/mutes.ts';
import { HOUR_MS, isoTimeOf } from '../../../shared/records/time.ts';
import { type Notice, TROUBLE_ENDS } from './notice.ts';
import { isEscalated } from './policy.ts';

/** A record keeps this many failures of the last hour. Further ones are not counted, so the number is a lower bound. */
export const FAILURES_KEPT_MAX = 60;

/** Events of one operation come out of order by seconds, in which few operations of one project and action end. */
const RECOVERED_KEPT_MAX = 20;

/**
 * Returns the record as the notice changes it. A copy of a notice changes nothing, and neither does a notice that does not say how
 * an operation stands. A time that lies after `nowMs` was written by a wrong clock and counts as `nowMs`.
 */
export function incidentAfter(
  record: IncidentRecord | undefined,
  notice: Notice,
  nowMs: number,
): IncidentRecord | undefined {
  if (!saysHowItStands(notice) || (record !== undefined && isCopy(notice, record))) return record;
  if (wasOnlyOpen(notice, record)) return record;
  const wasOpen = record !== undefined && isOpen(record);
  const known = record ?? firstRecord(notice);
  const before = wasOpen ? known.operations : withoutGivenUp(known.operations);
  const operations = withFewRecovered(noteOperations(before, [notice]));
  const state = standingOf(operations);
  const failures = withFailure(known.failures, notice, nowMs);
  if (state === 'unknown' || (record !== undefined && isSame(record, { operations, state, failures })))
    return record;
  const at = isoTimeOf(timeMsOf(notice, nowMs));
  const next = { ...known, operations, state, failures };
  if (!wasOpen) return state === 'recovered' ? { ended_at: at, ...next } : begunAgain(next, notice, at);
  const worsened = withGravity(next, gravityOf(notice));
  return isOpen(worsened) ? worsened : { ...worsened, ended_at: at };
}

/**
 * Returns whether the record shows already what the notice says. Of an operation that has recovered since, and that the record
 * has forgotten, the failures of the last hour are known still.
 */
function isCopy(notice: Notice, { operations, failures }: IncidentRecord): boolean {
  if (failures.some(({ id }) => id === notice.id)) return true;
  const { kind, sequence, observed_at } = notice;
  const known = operations[subjectOf(notice)];
  return known?.state === STATES[kind] && known?.sequence === sequence && known?.observed_at === observed_at;
}

/**
 * Returns whether the operation went with its project, and had neither failed nor stalled. The event of a failure may come
 * later, so an operation that has failed is remembered.
 */
function wasOnlyOpen(notice: Notice, record: IncidentRecord | undefined): boolean {
  const { kind, failures_count } = notice;
  const isKnown = record?.operations[subjectOf(notice)] !== undefined;
  return kind === 'project_gone' && failures_count === 0 && !isKnown;
}

function firstRecord(notice: Notice): IncidentRecord {
  const { account_id, project_id, action, observed_at } = notice;
  return {
    incident_id: incidentIdOf(incidentOf(notice)),
    account_id,
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
    state: 'recovered',
    gravity: 'failing',
    began_at: observed_at,
    operations: {},
    failures: [],
    revision: 1,
  };
}

/** An incident that had ended begins anew, so what was said of it before no longer holds. */
function begunAgain(record: IncidentRecord, notice: Notice, began_at: string): IncidentRecord {
  const { ended_at: _ended, acknowledged: _acknowledged, ...rest } = record;
  return { ...rest, began_at, gravity: gravityOf(notice) };
}

/** An acknowledgement was about what was known then, so it ends when the incident gets worse. */
function withGravity(record: IncidentRecord, gravity: Gravity): IncidentRecord {
  if (GRAVITIES.indexOf(gravity) <= GRAVITIES.indexOf(record.gravity)) return record;
  const { acknowledged: _acknowledged, ...rest } = record;
  return { ...rest, gravity };
}

/** Returns how bad what the notice says is. */
export function gravityOf(notice: Notice): Gravity {
  if (notice.kind === 'given_up' || notice.kind === 'vanished') return 'given_up';
  if (isEscalated(notice)) return 'repeated';
  return notice.kind === 'stalled' ? 'stalled' : 'failing';
}

/** An ended operation is remembered only for failures of it that come late, and the record is written with each event. */
function withFewRecovered(operations: Operations): Operations {
  const recovered = Object.entries(operations).filter(([, { state }]) => state === 'recovered');
  if (recovered.length <= RECOVERED_KEPT_MAX) return operations;
  const forgotten = recovered
    .toSorted(([, a], [, b]) => (a.observed_at < b.observed_at ? -1 : 1))
    .slice(0, recovered.length - RECOVERED_KEPT_MAX)
    .map(([id]) => id);
  return Object.fromEntries(Object.entries(operations).filter(([id]) => !forgotten.includes(id)));
}

/** A person has dealt with what was given up in an incident that has ended. */
function withoutGivenUp(operations: Operations): Operations {
  return Object.fromEntries(
    Object.entries(operations).map(([id, standing]) => [id, { ...standing, state: 'recovered' as const }]),
  );
}

function withFailure(
  failures: IncidentRecord['failures'],
  notice: Notice,
  nowMs: number,
): IncidentRecord['failures'] {
  const { id, new_failures: attempt_count = 0 } = notice;
  if (attempt_count === 0 || failures.some((failure) => failure.id === id)) return failures;
  const at_ms = timeMsOf(notice, nowMs);
  return [
    ...failures.filter((failure) => failure.at_ms > nowMs - HOUR_MS),
    { id, at_ms, attempt_count },
  ].slice(-FAILURES_KEPT_MAX);
}

/** Returns the time of what the notice reports, by the upstream's clock, in milliseconds since the epoch. */
function timeMsOf({ changed_at, observed_at }: Notice, nowMs: number): number {
  const timeMs = Date.parse(changed_at ?? observed_at);
  return Number.isNaN(timeMs) ? nowMs : Math.min(timeMs, nowMs);
}

function isSame(
  record: IncidentRecord,
  next: Pick<IncidentRecord, 'operations' | 'state' | 'failures'>,
): boolean {
  const { operations, state, failures } = record;
  return JSON.stringify({ operations, state, failures }) === JSON.stringify(next);
}

/**
 * At most this many operations are kept, so that an incident's item stays small: an operation takes about 100 bytes.
 * The oldest ends are forgotten first, then the oldest failures.
 */
const OPERATIONS_MAX = 300;

const STATES: Partial<Record<Notice['kind'], Standing['state']>> = {
  failed: 'failing',
  attempt_failed: 'failing',
  account_degraded: 'failing',
  channel_deaf: 'failing',
  stalled: 'stalled',
  stall_ended: 'recovered',
  given_up: 'given_up',
  vanished: 'given_up',
  recovered: 'recovered',
  cancelled: 'recovered',
  moved: 'recovered',
  project_gone: 'recovered',
  account_recovered: 'recovered',
  channel_back: 'recovered',
};

/** Returns whether the notice says that its operation, account or channel fails, takes too long, has recovered, or was given up. */
export function saysHowItStands({ kind }: Notice): boolean {
  return STATES[kind] !== undefined;
}

/** Returns whether the notice says that its subject fails or takes too long, and may still end by itself. */
export function isTrouble({ kind }: Notice): boolean {
  return isOngoing(STATES[kind] ?? 'unknown');
}

export function noteOperations(operations: Operations, notices: readonly Notice[]): Operations {
  const next = new Map(Object.entries(operations));
  for (const notice of notices) {
    const state = STATES[notice.kind];
    const known = next.get(subjectOf(notice));
    if (state === undefined || (known !== undefined && isOlder(notice, known))) continue;
    const { sequence, observed_at } = notice;
    next.set(subjectOf(notice), { state, observed_at, ...(sequence !== undefined && { sequence }) });
  }
  return Object.fromEntries(kept([...next]));
}

/** Returns the standing of all operations together. One that fails or has stalled outweighs those that have ended. */
export function standingOf(operations: Operations): Standing['state'] | 'unknown' {
  const states = new Set(Object.values(operations).map(({ state }) => state));
  return (
    (['failing', 'stalled', 'given_up', 'recovered'] as const).find((state) => states.has(state)) ?? 'unknown'
  );
}

/** Returns whether the notice is a failure that came late, after the end of its operation was reported. */
export function hasEnded(operations: Operations, notice: Notice): boolean {
  const known = operations[subjectOf(notice)];
  if (known === undefined || isOngoing(known.state) || STATES[notice.kind] !== 'failing') return false;
  return isOlder(notice, known);
}

function subjectOf({ operation_id, channel, account_id }: Notice): string {
  return operation_id ?? channel ?? account_id;
}

function isOlder(notice: Notice, known: Standing): boolean {
  if (notice.sequence !== undefined && known.sequence !== undefined) return notice.sequence < known.sequence;
  return notice.observed_at < known.observed_at;
}

function kept(entries: readonly (readonly [string, Standing])[]): readonly (readonly [string, Standing])[] {
  if (entries.length <= OPERATIONS_MAX) return entries;
  const rank = ({ state }: Standing) => (isOngoing(state) ? 1 : 0);
  return entries
    .toSorted(([, a], [, b]) => rank(b) - rank(a) || (a.observed_at < b.observed_at ? 1 : -1))
    .slice(0, OPERATIONS_MAX);
}

/**
 * Returns whether the person who acknowledged the incident knows already what the notice says. Something worse than what
 * was known then is reported, even while the record does not show it yet, and so is what happened after the incident
 * had ended with its acknowledgement.
 */
export function isAcknowledged(notice: Notice, record: IncidentRecord): boolean {
  const { acknowledged, gravity } = record;
  // The end of what was reported is news to the person who takes care of it.
  if (acknowledged === undefined || notice.kind === 'acknowledged' || TROUBLE_ENDS.has(notice.kind))
    return false;
  if (incidentIdOf(incidentOf(notice)) !== record.incident_id) return false;
  if (!isOpen(record) && !wasBefore(notice, acknowledged.at)) return false;
  return GRAVITIES.indexOf(gravityOf(notice)) <= GRAVITIES.indexOf(gravity);
}

/** A notice that could not be read whole has no time, and is then no reason to be silent. */
function wasBefore({ observed_at }: Notice, at: string): boolean {
  return observed_at !== '' && observed_at <= at;
}

/** Who takes care of an incident: the caller who acknowledged or muted it, with times in ISO 8601. */
export const careSchema = z.object({
  acknowledged: z.object({ client_id: z.string(), at: z.string(), reason: z.string().optional() }).optional(),
  muted: z.object({ client_id: z.string(), until: z.string(), reason: z.string().optional() }).optional(),
});

export type Care = z.infer<typeof careSchema>;

/** After a mute was set, lifted or has ended, messages are brought up to date for this long. */
const MUTE_IS_NEWS_MS = HOUR_MS;

/** Returns who takes care of the incident now. Of several mutes, the one that ends last counts. */
export function careOf(record: IncidentRecord, mutes: readonly Mute[], nowMs: number): Care {
  const { acknowledged } = record;
  const muted = isOpen(record)
    ? mutes
        .filter((mute) => isActive(mute, nowMs) && isInScope(mute, record))
        .toSorted((a, b) => (a.until < b.until ? -1 : 1))
        .at(-1)
    : undefined;
  return {
    ...(acknowledged && { acknowledged }),
    ...(muted && { muted: { client_id: muted.client_id, until: muted.until, reason: muted.reason } }),
  };
}

/** Returns whether a message that shows the one need not be edited to show the other. */
export function isSameCare(shown: Care | undefined, now: Care): boolean {
  const { acknowledged, muted } = shown ?? {};
  return (
    acknowledged?.at === now.acknowledged?.at &&
    acknowledged?.client_id === now.acknowledged?.client_id &&
    muted?.until === now.muted?.until &&
    muted?.client_id === now.muted?.client_id
  );
}

/** Returns the mutes that began or ended lately, so that the messages which they concern may still have to be changed. */
export function newsOfMutes(mutes: readonly Mute[], nowMs: number): readonly Mute[] {
  return mutes.filter((mute) => {
    const changedAt = isActive(mute, nowMs) ? mute.created_at : mute.until;
    return nowMs - Date.parse(changedAt) < MUTE_IS_NEWS_MS;
  });
}
