/** Serves the route by which a caller asks the poller to read a project soon. */

import * as z from 'zod';
import { notFound } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import type { ModelOf } from './bridge-route.ts';

export function wishRoutes(
  modelOf: ModelOf,
  pollIntervalMsOf: (accountId: string) => number,
): readonly Route[] {
  return [
    {
      id: 'requestRead',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/projects/{project_id}/read`,
      summary: 'Ask the poller for a fresh reading of a project',
      description:
        'The reading follows within seconds while the poller runs and all wishes together take less than a tenth of its requests. What it finds is published as events. Asking again within the poll interval of the account changes nothing. A caller may ask 30 times a minute.',
      group: 'Bridge',
      limit: 'wishes',
      isAudited: false,
      access: 'operations:read',
      status: 202,
      answer: z.object({ requested: z.literal(true) }),
      async handle({ caller, ids }) {
        const model = await modelOf(caller);
        const projectId = ids['project_id'] ?? '';
        if ((await model.project(projectId)) === undefined) throw notFound();
        await model.wishForReading(projectId, pollIntervalMsOf(caller.account_id));
        return { status: 202, body: { requested: true } };
      },
    },
  ];
}
