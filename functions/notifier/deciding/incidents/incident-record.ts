/** Derives the record of an incident, which all channels share, from what the notifier hears of its operations. */

import { incidentIdOf, incidentOf } from '../../../../shared/alerts/incident-key.ts';
import {
  GRAVITIES,
  type Gravity,
  type IncidentRecord,
  isOpen,
  type Operations,
} from '../../../../shared/alerts/incidents/incident-record.ts';
import { HOUR_MS } from '../../../../shared/core/time/durations.ts';
import { isoTimeOf } from '../../../../shared/core/time/timestamp.ts';
import type { Notice } from '../notices/notice.ts';
import { isEscalated } from '../notices/severity.ts';
import { noteOperations, saysHowItStands, standingOf } from './operation-standing.ts';

/** A record keeps this many failures of the last hour. Further ones are not counted, so the number is a lower bound. */
export const FAILURES_KEPT_MAX = 60;

/** Events of one operation come out of order by seconds, in which few operations of one project and action end. */
const RECOVERED_KEPT_MAX = 20;

/**
 * Returns the record after the notice, and the same record when the notice changes nothing, as a copy does. `nowMs`
 * bounds times that a wrong clock wrote. Only a notice that says how an operation stands begins or changes a record.
 */
export function incidentAfter(
  record: IncidentRecord | undefined,
  notice: Notice,
  nowMs: number,
): IncidentRecord | undefined {
  if (!saysHowItStands(notice)) return record;
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
export function gravityOf(notice: Pick<Notice, 'kind' | 'failures_count'>): Gravity {
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

/** Returns when it happened by the upstream's clock, in milliseconds since the epoch. */
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
