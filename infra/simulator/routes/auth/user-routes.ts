/** Adds the routes of an auth integration's users. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import type { UpstreamEnv } from '../upstream-context.ts';
import { type AuthRouteDeps, drawAuthObject } from './draw-auth-object.ts';
import {
  AUTH_PATH,
  applyOutcome,
  emailAddress,
  inPathProject,
  inProject,
  projectFields,
  withBody,
} from './requests.ts';

const userBody = z.object({
  ...projectFields,
  email: emailAddress,
  // A user name has 1 to 255 characters (specification "Limits").
  name: z.string().min(1).max(255).optional(),
});

export function addUserRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  app.post('/api/v2/projects/auth/user', (c) =>
    withBody(c, userBody, (body) =>
      inProject(c, body.project_id, (project) => {
        const drawing = drawAuthObject(deps);
        return applyOutcome(c, project, commands.createUser(project.auth, body, drawing), 201);
      }),
    ),
  );
  app.delete(`${AUTH_PATH}/users/:auth_user_id`, (c) =>
    inPathProject(c, (project) =>
      applyOutcome(c, project, commands.deleteUser(project.auth, c.req.param('auth_user_id')), 204),
    ),
  );
}
