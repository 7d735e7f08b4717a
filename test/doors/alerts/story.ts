/**
 * Tells what happens at the service as the bridge's published events: each is checked against its definition in the
 * catalogue, and the events of an operation have the sequence, the times and the counts that the poller would give them.
 */

import {
  APPROVAL_DETAIL_TYPE,
  APPROVAL_SOURCE,
  approvalDetail,
} from '../../../shared/events/approval-event.ts';
import * as catalog from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';

/** An operation as people know it. */
export interface Operation {
  readonly id: string;
  readonly project: string;
  readonly action: string;
  readonly account: string;
}

type StateFields = Partial<catalog.OperationStateChanged>;

interface Known {
  readonly createdAt: string;
  sequence: number;
  status: string | null;
  failures: number;
}

export interface BusEvent {
  readonly source: string;
  readonly 'detail-type': string;
  readonly detail: Readonly<Record<string, unknown>> & { readonly id: string };
}

const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export function createStory(clock: Pick<Clock, 'now'>, publish: (event: object) => void) {
  const known = new Map<string, Known>();
  const events: BusEvent[] = [];

  function tell(
    detailType: string,
    detail: Readonly<Record<string, unknown>>,
    envelope: object = {},
  ): BusEvent {
    const event = {
      source: EVENT_SOURCE,
      'detail-type': detailType,
      ...envelope,
      detail: { ...detail, id: (detail['id'] as string | undefined) ?? `event-${events.length + 1}` },
    };
    events.push(event);
    publish(event);
    return event;
  }

  const now = () => new Date(clock.now()).toISOString();
  const seconds = () => `${now().slice(0, 19)}Z`;
  const common = (account = 'main') => ({
    schema: 1 as const,
    id: `event-${events.length + 1}`,
    account_id: account,
    observed_at: now(),
  });
  const identityOf = ({ id, project, action, account }: Operation) => ({
    ...common(account),
    operation_id: id,
    project_id: project,
    action,
  });

  function standingOf({ id, account }: Operation): Known {
    const key = `${account} ${id}`;
    const found = known.get(key) ?? { createdAt: seconds(), sequence: 0, status: null, failures: 0 };
    known.set(key, found);
    return found;
  }

  return {
    /** Each event that was published, in its order. */
    events,
    tell,

    /** The operation has another status, or has failed more often. `fields` replace what the story would say. */
    changes(operation: Operation, status: string, fields: StateFields = {}): BusEvent {
      const standing = standingOf(operation);
      const failures = fields.failures_count ?? standing.failures;
      const detail = catalog.operationStateChanged.detail.parse({
        ...identityOf(operation),
        sequence: standing.sequence + 1,
        previous_status: standing.status,
        status,
        terminal: TERMINAL.has(status),
        failures_count: failures,
        new_failures: Math.max(0, failures - standing.failures),
        operation_created_at: standing.createdAt,
        operation_updated_at: seconds(),
        observed_by: 'poll',
        ...fields,
      });
      Object.assign(standing, { sequence: detail.sequence, status, failures });
      return tell(catalog.operationStateChanged.detailType, detail);
    },

    stalls(operation: Operation, openMinutes: number): BusEvent {
      const { createdAt, failures } = standingOf(operation);
      const detail = catalog.operationStalled.detail.parse({
        ...identityOf(operation),
        status: 'running',
        failures_count: failures,
        open_ms: openMinutes * 60_000,
        threshold_ms: 300_000,
        operation_created_at: createdAt,
      });
      return tell(catalog.operationStalled.detailType, detail);
    },

    isWatchedNoLonger(operation: Operation, reason: string): BusEvent {
      const { status, failures } = standingOf(operation);
      const detail = catalog.operationWatchEnded.detail.parse({
        ...identityOf(operation),
        reason,
        status: status ?? 'running',
        failures_count: failures,
      });
      return tell(catalog.operationWatchEnded.detailType, detail);
    },

    isWatched(account: string, counts: { readonly project_count: number; readonly failing_count: number }) {
      const detail = catalog.accountWatched.detail.parse({ ...common(account), ...counts });
      return tell(catalog.accountWatched.detailType, detail);
    },

    crosses(fields: object): BusEvent {
      const { example } = catalog.projectUsageCrossed;
      const usage = { ...example, ...common('main'), project_id: 'shop', ...fields };
      return tell(catalog.projectUsageCrossed.detailType, catalog.projectUsageCrossed.detail.parse(usage));
    },

    moves(project_id: string, from_account_id: string, to_account_id: string): BusEvent {
      const detail = { ...common(to_account_id), project_id, from_account_id, to_account_id };
      return tell(catalog.projectTransferred.detailType, catalog.projectTransferred.detail.parse(detail));
    },

    approval(state: string, decided_by?: string): BusEvent {
      const asked = {
        approval_id: 'approval-1',
        client_id: 'agent',
        call: 'deleteProject',
        project_id: 'shop',
      };
      const request = 'DELETE /projects/shop';
      const decided = decided_by && { decided_by, reason: 'still in use' };
      const detail = approvalDetail.parse({ ...common(), ...asked, request, state, ...decided });
      return tell(APPROVAL_DETAIL_TYPE, detail, { source: APPROVAL_SOURCE });
    },

    degrades(account: string, reason: string): BusEvent {
      const detail = catalog.accountDegraded.detail.parse({ ...common(account), reason });
      return tell(catalog.accountDegraded.detailType, detail);
    },

    recovers(account: string, reason: string): BusEvent {
      const detail = catalog.accountRecovered.detail.parse({ ...common(account), reason });
      return tell(catalog.accountRecovered.detailType, detail);
    },

    /** Publishes the example of each definition in the catalogue that this asks for. */
    examples(isAsked: (detailType: string) => boolean): void {
      for (const { detailType, example } of catalog.eventCatalog)
        if (isAsked(detailType)) tell(detailType, { ...example, id: `event-${events.length + 1}` });
    },

    /** Publishes the event with this number again, as EventBridge may. */
    repeats(number: number, envelope: object = {}): void {
      const event = events[number - 1];
      if (event === undefined) throw new Error(`There is no event ${number} yet`);
      publish({ ...event, ...envelope });
    },
  };
}
