/** Adds the routes of an auth integration's OAuth providers. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';
import { AUTH_PATH, applyOutcome, BRANCH_AUTH_PATH, inPathProject, text, withBody } from './requests.ts';

const providerBody = z.object({ id: text, client_id: text.optional(), client_secret: text.optional() });
const credentialsBody = providerBody.omit({ id: true });

export function addProviderRoutes(app: Hono<UpstreamEnv>): void {
  // Deleting answers 204 by the specification; for the newer path, the public contract says 200.
  addRoutes(app, `${AUTH_PATH}/oauth_providers`, 204);
  addRoutes(app, `${BRANCH_AUTH_PATH}/oauth_providers`, 200);
}

function addRoutes(app: Hono<UpstreamEnv>, path: string, deleted: 200 | 204): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ providers: auth.providers.map(({ id, type }) => ({ id, type })) });
    }),
  );
  app.post(path, (c) =>
    withBody(c, providerBody, (body) =>
      inPathProject(c, (project) => applyOutcome(c, project, commands.addProvider(project.auth, body), 200)),
    ),
  );
  app.patch(`${path}/:oauth_provider_id`, (c) =>
    withBody(c, credentialsBody, (body) =>
      inPathProject(c, (project) => {
        const change = { ...body, id: c.req.param('oauth_provider_id') ?? '' };
        return applyOutcome(c, project, commands.updateProvider(project.auth, change), 200);
      }),
    ),
  );
  app.delete(`${path}/:oauth_provider_id`, (c) =>
    inPathProject(c, (project) =>
      applyOutcome(
        c,
        project,
        commands.deleteProvider(project.auth, c.req.param('oauth_provider_id') ?? ''),
        deleted,
      ),
    ),
  );
}
