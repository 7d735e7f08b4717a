/** Serves what became of the commands that were sent through the bridge. */

import * as z from 'zod';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import { eventsOf } from '../read-model/feed-event.ts';
import { notFound } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

export function commandRoutes(modelOf: ModelOf): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'getCommand',
        path: '/projects/{project_id}/commands/{request_id}',
        summary: 'What became of a command',
        access: 'operations:read',
        answer: z.looseObject({ command: z.looseObject({ request_id: z.string() }) }),
      },
      async ({ ids }, model) => {
        const record = await model.command(ids['project_id'] ?? '', ids['request_id'] ?? '');
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
