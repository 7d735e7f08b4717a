/** Adds the routes of an auth integration's users. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import type { UpstreamEnv } from '../upstream-context.ts';
import { type AuthRouteDeps, drawAuthObject } from './draw-auth-object.ts';
import {
  AUTH_PATHS,
  applyOutcome,
  BRANCH_AUTH_PATH,
  emailAddress,
  inPathProject,
  inProject,
  projectFields,
  withBody,
} from './requests.ts';

const userFields = z.object({
  email: emailAddress,
  // A user name has 1 to 255 characters (specification "Limits").
  name: z.string().min(1).max(255).optional(),
});
const userBody = userFields.extend(projectFields);

export function addUserRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  app.post('/api/v2/projects/auth/user', (c) =>
    withBody(c, userBody, (body) =>
      inProject(c, body.project_id, (project) => {
        const drawing = drawAuthObject(deps);
        return applyOutcome(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
  app.post(`${BRANCH_AUTH_PATH}/users`, (c) =>
    withBody(c, userFields, (body) =>
      inPathProject(c, (project) => {
        const drawing = drawAuthObject(deps);
        return applyOutcome(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
  for (const path of AUTH_PATHS)
    app.delete(`${path}/users/:auth_user_id`, (c) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.deleteUser(project.auth, c.req.param('auth_user_id')), 204),
      ),
    );
}
