/** Adds the routes of an auth integration's redirect-URI whitelist. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import { canonicalOrigin } from '../../world/auth/origin.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';
import { AUTH_PATH, applyOutcome, authProvider, inPathProject, withBody } from './requests.ts';

/** A redirect URI's domain is "an origin with scheme" (specification). */
const origin = z
  .string()
  .refine((text) => canonicalOrigin(text) !== undefined, 'must be an origin with a scheme');
const domainBody = z.object({ domain: origin, auth_provider: authProvider });
const domainsBody = z.object({
  auth_provider: authProvider,
  domains: z.array(z.object({ domain: z.string() })).min(1),
});

export function addDomainRoutes(app: Hono<UpstreamEnv>): void {
  app.get(`${AUTH_PATH}/domains`, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ domains: auth.domains });
    }),
  );
  app.post(`${AUTH_PATH}/domains`, (c) =>
    withBody(c, domainBody, (body) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.addDomain(project.auth, body.domain), 201),
      ),
    ),
  );
  app.delete(`${AUTH_PATH}/domains`, (c) =>
    withBody(c, domainsBody, ({ domains }) =>
      inPathProject(c, (project) => {
        const names = domains.map(({ domain }) => domain);
        return applyOutcome(c, project, commands.deleteDomains(project.auth, names), 200);
      }),
    ),
  );
}
