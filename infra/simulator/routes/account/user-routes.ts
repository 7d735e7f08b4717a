/** Adds the routes that show who the caller is (public contract). */

import type { Hono } from 'hono';
import { findPerson, ORGANIZATIONS } from '../../world/account/organizations.ts';
import { AUTOSCALING_CU_MAX } from '../../world/state/compute-size.ts';
import type { World } from '../../world/world.ts';
import { outsideScope } from '../find-project.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { organizationRow } from './organization-row.ts';

/** The service limits the projects of a person; the active time of paid plans has no limit (observed: 0). */
const LIMITS = { projects_limit: 100, active_seconds_limit: 0 };

export function addUserRoutes(app: Hono<UpstreamEnv>, { world }: { readonly world: World }): void {
  app.get('/api/v2/users/me', (c) =>
    ofPerson(c, (userId) => {
      const { id, name, lastName, email } = findPerson(userId);
      const { plan } = world;
      return c.json({
        id,
        login: email,
        email,
        name,
        last_name: lastName,
        image: '',
        auth_accounts: [{ provider: 'keycloak', email, image: '', login: email, name }],
        plan: plan.subscriptionType,
        branches_limit: plan.branchesMax,
        max_autoscaling_limit: Math.min(plan.cuMax, AUTOSCALING_CU_MAX),
        ...LIMITS,
      });
    }),
  );
  app.get('/api/v2/users/me/organizations', (c) =>
    ofPerson(c, () => {
      const { organizationIds } = c.get('principal');
      const own = ORGANIZATIONS.filter(({ id }) => organizationIds.includes(id));
      return c.json({
        organizations: own.map((organization) => organizationRow(organization, world)),
      });
    }),
  );
  app.get('/api/v2/auth', (c) => {
    const { kind, userId, organizationIds } = c.get('principal');
    return kind === 'personal'
      ? c.json({ account_id: userId, auth_method: 'api_key_user' })
      : c.json({ account_id: organizationIds[0] ?? userId, auth_method: 'api_key_org' });
  });
}

/** A key of an organization or of a project belongs to no person (observed: 404 with this sentence). */
function ofPerson(c: UpstreamContext, answer: (userId: string) => Response): Response {
  const { kind, userId, projectId } = c.get('principal');
  if (projectId !== undefined) return outsideScope(c, projectId);
  return kind === 'personal' ? answer(userId) : refusal(c, 404, 'not allowed for organization API keys');
}
