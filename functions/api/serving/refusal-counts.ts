/** Bounds the audit records of refusals: the first ones of a caller in a minute have a record each, the others one together. */

import { generationOf } from '../../../shared/accounts/account-item.ts';
import type { Caller } from '../../../shared/callers/authorize.ts';
import { type AuditDeps, reportAuditFailure } from '../../../shared/commands/audit-trail.ts';
import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { lifeOf } from './audit-request.ts';

/** A person who makes mistakes stays below it, and a program that goes on after them is seen by the first ones. */
export const RECORDED_REFUSALS_MAX = 10;

/** This is the name of the record that says how many refusals had none of their own. */
const COUNTED_CALL = 'countedRefusals';

export interface RefusalCounts {
  /** Returns true when the caller's refusals of this minute have no records of their own any more. */
  isOver(caller: Caller): boolean;
  /** Counts a refusal, and returns whether it has a record of its own. */
  note(caller: Caller, status: number): boolean;
  /**
   * Writes how many refusals of past minutes had no record. It never rejects. A process that is asked for nothing more
   * does not come to it; the count `ApiRefusals` has each refusal in any case.
   */
  recordEnded(): Promise<void>;
}

interface Counted {
  readonly caller: Caller;
  readonly minute: number;
  count: number;
  /** The last refusal had this status. */
  status: number;
}

/** Each process counts for itself. A caller has at most one count for each minute in which requests came. */
export function createRefusalCounts(deps: AuditDeps, newId: () => string): RefusalCounts {
  const { clock } = deps;
  let counts = new Map<string, Counted>();
  const minuteNow = () => Math.floor(clock.now() / MINUTE_MS);
  const nameOf = (caller: Caller) =>
    JSON.stringify([caller.account_id, generationOf(caller), caller.client_id, minuteNow()]);
  return {
    isOver: (caller) => (counts.get(nameOf(caller))?.count ?? 0) >= RECORDED_REFUSALS_MAX,
    note(caller, status) {
      const counted = counts.get(nameOf(caller)) ?? { caller, minute: minuteNow(), count: 0, status };
      counts.set(nameOf(caller), counted);
      counted.count += 1;
      counted.status = status;
      return counted.count <= RECORDED_REFUSALS_MAX;
    },
    async recordEnded() {
      const minute = minuteNow();
      const ended = [...counts.values()].filter((counted) => counted.minute < minute);
      if (ended.length === 0) return;
      counts = new Map([...counts].filter(([, counted]) => counted.minute >= minute));
      const isBeyond = ({ count }: Counted) => count > RECORDED_REFUSALS_MAX;
      await Promise.all(ended.filter(isBeyond).map((counted) => record(deps, newId(), counted)));
    },
  };
}

async function record(
  { audit, telemetry }: AuditDeps,
  request_id: string,
  { caller, minute, count, status }: Counted,
): Promise<void> {
  const intent = {
    account_id: caller.account_id,
    ...lifeOf(caller),
    request_id,
    client_id: caller.client_id,
    email: caller.email,
    call: COUNTED_CALL,
    project_id: undefined,
    resource: { count: String(count - RECORDED_REFUSALS_MAX) },
    received_at: isoTimeOf(minute * MINUTE_MS),
  };
  await audit
    .end(intent, { outcome: 'refused', status, duration_ms: 0 })
    .catch((error: unknown) => reportAuditFailure(telemetry, intent, error));
}
