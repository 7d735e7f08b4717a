/** Serves the repair of a project: a caller asks for it, the poller does it, and the route shows whether it has ended. */

import * as z from 'zod';
import { HISTORY_AFTER_MS } from '../../../shared/core/records/history.ts';
import { DAY_MS } from '../../../shared/core/time/durations.ts';
import { normaliseTimestamp } from '../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Repair } from '../../../shared/store/adapters/repairs.ts';
import { invalid, notFound, Problem } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';

const PATH = '/projects/{project_id}/repair';

/** What is older than this is history where the table does not know it, so a repair never reaches below. */
const DAYS_MAX = HISTORY_AFTER_MS / DAY_MS;

const body = z.strictObject({
  since: z.iso
    .datetime({ offset: true })
    .describe(`Operations that were created before this time are left alone; at most ${DAYS_MAX} days ago.`),
});

const answer = z.object({
  state: z.enum(['in_progress', 'ended']),
  since: z.string(),
  requested_at: z.string(),
  lowered_at: z
    .string()
    .optional()
    .describe('From this time on the poller reads the list down to `since` again.'),
  ended_at: z
    .string()
    .optional()
    .describe('At this time the list was read again, and what was missing is recorded.'),
});

export function repairRoutes(modelOf: ModelOf, clock: Clock): readonly Route[] {
  return [
    {
      id: 'requestRepair',
      method: 'POST',
      path: `${BRIDGE_MOUNT}${PATH}`,
      summary: 'Have the operations of a project read again, and recorded where they are missing',
      description:
        'The poller reads the list of the project again down to this time, and records and publishes operations that are missing and states that have changed. It removes nothing, and restores no event that somebody has deleted from the table. A caller may ask 30 times a minute.',
      group: 'Bridge',
      limit: 'wishes',
      access: 'operations:repair',
      body,
      status: 202,
      answer,
      furtherProblems: ['repair-in-progress'],
      async handle(request) {
        const model = await modelOf(request.caller);
        const projectId = request.ids['project_id'] ?? '';
        const since = sinceOf(body.parse(request.body).since, clock.now());
        if ((await model.project(projectId)) === undefined) throw notFound();
        const wanted = { projectId, repairId: request.requestId, since };
        if ((await model.requestRepair(wanted)) === 'conflict') throw inProgress();
        const repair = await model.repair(projectId);
        if (repair === undefined) throw notFound();
        return { status: 202, body: viewOf(repair) };
      },
    },
    readRoute(
      modelOf,
      {
        id: 'getRepair',
        path: PATH,
        summary: 'Whether the latest repair of a project has ended',
        access: 'operations:read',
        answer,
      },
      async ({ ids }, model) => {
        const repair = await model.repair(ids['project_id'] ?? '');
        if (repair === undefined) throw notFound();
        return { status: 200, body: viewOf(repair) };
      },
    ),
  ];
}

function sinceOf(text: string, nowMs: number) {
  const since = normaliseTimestamp(text);
  if (since === undefined || Date.parse(text) < nowMs - HISTORY_AFTER_MS)
    throw invalid([{ field: 'body.since', reason: `must be a time within the last ${DAYS_MAX} days` }]);
  return since;
}

function viewOf(repair: Repair): z.output<typeof answer> {
  const { kind: _kind, repair_id: _id, project_id: _project, ...shown } = repair;
  return { state: repair.ended_at === undefined ? 'in_progress' : 'ended', ...shown };
}

function inProgress(): Problem {
  return new Problem('repair-in-progress', {
    detail: 'A repair of this project has not ended yet; GET the same path shows when it has.',
  });
}
