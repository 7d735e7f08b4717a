/** Adds the routes of an auth integration's redirect-URI whitelist. */

import type { Hono } from 'hono';
import * as z from 'zod';
import * as commands from '../../world/auth/auth-commands.ts';
import { canonicalOrigin } from '../../world/auth/origin.ts';
import { refusal, type UpstreamEnv } from '../upstream-context.ts';
import { AUTH_PATHS, applyOutcome, authProvider, inPathProject, withBody } from './requests.ts';

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
  for (const path of AUTH_PATHS) addRoutes(app, `${path}/domains`);
}

function addRoutes(app: Hono<UpstreamEnv>, path: string): void {
  app.get(path, (c) =>
    inPathProject(c, ({ auth }) => {
      if (auth.integration === undefined) return refusal(c, 404, 'auth integration not found');
      return c.json({ domains: auth.domains });
    }),
  );
  app.post(path, (c) =>
    withBody(c, domainBody, (body) =>
      inPathProject(c, (project) =>
        applyOutcome(c, project, commands.addDomain(project.auth, body.domain), 201),
      ),
    ),
  );
  app.delete(path, (c) =>
    withBody(c, domainsBody, ({ domains }) =>
      inPathProject(c, (project) => {
        const names = domains.map(({ domain }) => domain);
        return applyOutcome(c, project, commands.deleteDomains(project.auth, names), 200);
      }),
    ),
  );
}
