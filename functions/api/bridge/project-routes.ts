/** Serves the projects that the bridge watches. */

import * as z from 'zod';
import { maySee } from '../../../shared/callers/authorize.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Route } from '../serving/route.ts';
import { type ModelOf, readRoute } from './bridge-route.ts';
import { cursor, limit, paged } from './page-query.ts';

export function projectRoutes(modelOf: ModelOf): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listTrackedProjects',
        path: '/projects',
        summary: 'Projects that the bridge watches',
        access: 'projects:read',
        query: z.strictObject({ limit, cursor }),
        answer: paged(z.looseObject({ project_id: z.string() }), 'projects'),
      },
      async ({ caller, query }, model) => {
        const page = await model.projects(query);
        const shown = page.items.filter(({ project_id }) => maySee(caller, project_id)).map(projectView);
        return { status: 200, body: { projects: shown, cursor: page.next } };
      },
    ),
  ];
}

function projectView({ project_id, is_visible, bound }: ProjectRecord): object {
  return { project_id, visible: is_visible, read_up_to: bound };
}
