/** Serves what became of the commands that were sent through the bridge. */

import * as z from 'zod';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { eventsOf } from '../read-model/feed-event.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { notFound } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { WAIT_SECONDS_MAX, wait, waitFor } from '../serving/wait-for.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

interface WaitDeps {
  readonly clock: Clock;
  readonly patient: PatientCallers;
}

const waitQuery = z.strictObject({ wait });

export function commandRoutes(modelOf: ModelOf, { clock, patient }: WaitDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getCommand',
        path: '/projects/{project_id}/commands/{request_id}',
        summary: 'What became of a command; waits until it settles',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the command has settled, or after N seconds as it is then.`,
        access: 'operations:read',
        query: waitQuery,
        answer: z.looseObject({ command: z.looseObject({ request_id: z.string() }) }),
      },
      async ({ caller, ids, query, signal }, model) => {
        const waitMs = query.wait * 1_000;
        const record = await waitFor({
          read: () => model.command(ids['project_id'] ?? '', ids['request_id'] ?? ''),
          isDone: (found) => found === undefined || found.is_settled,
          waitMs,
          clock,
          signal,
          beginWait: () => patient.wait(caller, waitMs),
        });
        if (record === undefined) throw notFound();
        return { status: 200, body: { command: commandView(record) } };
      },
    ),
  ];
}

function commandView(record: CommandRecord): object {
  const { request_id, client_id, project_id, call, sent_at, is_settled, operation_ids } = record;
  return {
    request_id,
    client_id,
    project_id,
    call,
    sent_at,
    settled: is_settled,
    operation_ids,
    events: eventsOf(record),
  };
}
