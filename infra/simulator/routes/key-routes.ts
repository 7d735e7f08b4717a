/** Adds the routes of API keys. The specification does not give their paths, so these are the public ones. */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { KeyOutcome, KeyRing } from '../world/account/key-ring.ts';
import { ORGANIZATION_ID } from '../world/state/project-settings.ts';
import { findProject, outsideScope } from './find-project.ts';
import { parseBody } from './request-body.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from './upstream-context.ts';

/** A key's name has at most 64 characters (public contract). */
const keyName = z.string().min(1).max(64);
const personalBody = z.object({ key_name: keyName });
const organizationBody = z.object({ key_name: keyName, project_id: z.string().optional() });

export function addKeyRoutes(app: Hono<UpstreamEnv>, keys: KeyRing): void {
  app.get('/api/v2/api_keys', (c) => unscoped(c, () => answer(c, keys.listPersonal(c.get('principal')))));
  app.post('/api/v2/api_keys', async (c) => {
    const parsed = await parseBody(c, personalBody);
    if (parsed.kind === 'refused') return parsed.response;
    return unscoped(c, () => answer(c, keys.createPersonal(c.get('principal'), parsed.body.key_name)));
  });
  app.delete('/api/v2/api_keys/:key_id', (c) =>
    unscoped(c, () => answer(c, keys.revokePersonal(c.get('principal'), Number(c.req.param('key_id'))))),
  );

  const base = '/api/v2/organizations/:org_id/api_keys';
  app.get(base, (c) => ofOrganization(c, () => answer(c, keys.listOrganization(c.get('principal')))));
  app.post(base, async (c) => {
    const parsed = await parseBody(c, organizationBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { key_name: name, project_id: projectId } = parsed.body;
    return ofOrganization(c, () => {
      const project = projectId === undefined ? undefined : findProject(c, projectId);
      if (project instanceof Response) return project;
      if (project !== undefined && project.settings.organizationId !== ORGANIZATION_ID)
        return refusal(c, 404, 'project not found');
      return answer(c, keys.createOrganization(c.get('principal'), { name, projectId }));
    });
  });
  app.delete(`${base}/:key_id`, (c) =>
    ofOrganization(c, () =>
      answer(c, keys.revokeOrganization(c.get('principal'), Number(c.req.param('key_id')))),
    ),
  );
}

/** A project-scoped key acts on its project alone and performs no organization actions (specification). */
function unscoped(c: UpstreamContext, act: () => Response): Response {
  const { projectId } = c.get('principal');
  return projectId === undefined ? act() : outsideScope(c, projectId);
}

function ofOrganization(c: UpstreamContext, act: () => Response): Response {
  if (c.req.param('org_id') !== ORGANIZATION_ID) return refusal(c, 404, 'organization not found');
  return unscoped(c, act);
}

function answer(c: UpstreamContext, outcome: KeyOutcome<object>): Response {
  if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
  return c.json(outcome.value);
}
