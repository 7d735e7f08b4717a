/** Adds the routes of an auth integration's OAuth providers. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';
import { AUTH_PATH, applyOutcome, inPathProject, text, withBody } from './requests.ts';

const providerBody = z.object({ id: text, client_id: text.optional(), client_secret: text.optional() });
const credentialsBody = providerBody.omit({ id: true });

export function addProviderRoutes(app: Hono<UpstreamEnv>): void {
  app.get(`${AUTH_PATH}/oauth_providers`, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ providers: auth.providers.map(({ id, type }) => ({ id, type })) });
    }),
  );
  app.post(`${AUTH_PATH}/oauth_providers`, (c) =>
    withBody(c, providerBody, (body) =>
      inPathProject(c, (project) => applyOutcome(c, project, commands.addProvider(project.auth, body), 200)),
    ),
  );
  app.patch(`${AUTH_PATH}/oauth_providers/:oauth_provider_id`, (c) =>
    withBody(c, credentialsBody, (body) =>
      inPathProject(c, (project) => {
        const change = { ...body, id: c.req.param('oauth_provider_id') };
        return applyOutcome(c, project, commands.updateProvider(project.auth, change), 200);
      }),
    ),
  );
  app.delete(`${AUTH_PATH}/oauth_providers/:oauth_provider_id`, (c) =>
    inPathProject(c, (project) =>
      applyOutcome(c, project, commands.deleteProvider(project.auth, c.req.param('oauth_provider_id')), 204),
    ),
  );
}
