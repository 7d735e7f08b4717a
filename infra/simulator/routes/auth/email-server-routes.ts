/** Adds the routes of an auth integration's e-mail server. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import type { EmailServer } from '../../world/state/auth-state.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';
import {
  AUTH_PATH,
  applyOutcome,
  BRANCH_AUTH_PATH,
  emailAddress,
  inPathProject,
  text,
  withBody,
} from './requests.ts';

const emailServerBody = z.discriminatedUnion('type', [
  z.object({ type: z.literal('shared') }),
  z.object({
    type: z.literal('standard'),
    host: text,
    port: z.number().int().min(1).max(65_535),
    username: text,
    password: text,
    sender_email: emailAddress,
    sender_name: text,
  }),
]);

export function addEmailServerRoutes(app: Hono<UpstreamEnv>): void {
  addRoutes(app, `${AUTH_PATH}/email_server`);
  addRoutes(app, `${BRANCH_AUTH_PATH}/email_provider`);
}

function addRoutes(app: Hono<UpstreamEnv>, path: string): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json(auth.emailServer satisfies EmailServer);
    }),
  );
  app.patch(path, (c) =>
    withBody(c, emailServerBody, (body) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.updateEmailServer(project.auth, body), 200),
      ),
    ),
  );
}
