/**
 * Collects what the checker reads: the upstream's truth and traffic, the delivered events, and the code's logs and
 * metrics.
 */

import type { UsualDuration } from '../../../../shared/records/journal-entries.ts';
import type { Violation } from '../../check-history.ts';
import type { Delivery } from '../cloud/bus.ts';
import { ACCOUNT_ID, type Stage } from '../stage.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import type { TruthProject } from '../upstream/truth.ts';

export interface Told extends Delivery {
  readonly event: ToldEvent;
}

/** Has the fields of all details; the detail type decides which of them are present. */
export interface ToldEvent {
  readonly id: string;
  readonly account_id: string;
  readonly project_id?: string;
  readonly operation_id?: string;
  readonly sequence?: number;
  readonly status?: string;
  readonly previous_status?: string | null;
  readonly failures_count?: number;
  readonly new_failures?: number;
  readonly late?: boolean;
  readonly observed_at: string;
  readonly observed_by?: string;
  readonly operation_updated_at?: string;
  readonly reason?: string;
  readonly outcome?: string;
  readonly threshold_ms?: number;
  readonly open_ms?: number;
  readonly usual_duration?: UsualDuration;
  readonly branch_id?: string;
  readonly endpoint_id?: string;
  readonly state?: string;
  readonly command?: { readonly request_id: string };
  readonly operations?: readonly { readonly operation_id: string; readonly status: string }[];
  readonly missing?: readonly string[];
  readonly used?: number;
  readonly limit?: number;
  readonly threshold_percent?: number;
  readonly resets_at?: string;
}

export interface Evidence {
  readonly stage: Stage;
  /**
   * Holds every copy in the order in which the bus accepted them. Parked events, which wait for a person, come last.
   */
  readonly told: readonly Told[];
  /** Holds the first copy of each event. */
  readonly events: readonly Told[];
  /** Holds the answers that a poller received completely. */
  readonly answers: readonly LoggedRequest[];
  /** Returns when an answer first showed the project to a poller, or undefined when none did. */
  readonly shownAtMs: (project: TruthProject) => number | undefined;
  /** Returns when the project's operations were first listed to a poller, or undefined when they never were. */
  readonly listedAtMs: (project: TruthProject) => number | undefined;
  /**
   * Returns the requests for the project's operations that a poller sent and that the upstream answered with an
   * error.
   */
  readonly refusalsOf: (project: TruthProject) => readonly LoggedRequest[];
}

export type Check = (evidence: Evidence) => readonly Violation[];

export function evidenceOf(stage: Stage): Evidence {
  const { log } = stage.upstream;
  const told = allToldIn(stage).filter(({ event }) => event.account_id === ACCOUNT_ID);
  const seen = new Set<string>();
  const answers = log.filter(
    ({ isCommand, isDelivered, status }) => !isCommand && isDelivered && status === 200,
  );
  const firstOf = (isIt: (answer: LoggedRequest) => boolean) => answers.find(isIt)?.atMs;
  return {
    stage,
    told,
    events: told.filter(({ event: { id } }) => !seen.has(id) && seen.add(id)),
    answers,
    shownAtMs: ({ id }) => firstOf(({ shownIds }) => shownIds.includes(id)),
    refusalsOf: ({ id }) =>
      log.filter(
        ({ route, projectId, status, isCommand }) =>
          !isCommand && route === 'operations' && projectId === id && status >= 500,
      ),
    listedAtMs: ({ id }) => firstOf(({ route, projectId }) => route === 'operations' && projectId === id),
  };
}

/** Returns the copies of all accounts. */
export function allToldIn(stage: Stage): readonly Told[] {
  return [...stage.bus.delivered, ...parkedOf(stage)].map(toldOf);
}

export function toldOf(delivery: Delivery): Told {
  return { ...delivery, event: JSON.parse(delivery.detail) as ToldEvent };
}

function parkedOf({ tableSide }: Stage): readonly Delivery[] {
  return tableSide.table.sync
    .items()
    .filter(({ kind }) => kind === 'parked')
    .map((item) => {
      const { detailType, detail } = JSON.parse(item['event'] as string) as Delivery;
      // The item itself names the time by the bridge's clock, which may be wrong.
      const atMs =
        tableSide.writtenAtMs.get(`${item.pk}\n${item.sk}`) ?? Date.parse(item['parked_at'] as string);
      return { detailType, detail, atMs, by: 'parked' };
    });
}
