/** Adds the routes of organizations and their members (public contract). */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { KeyRing } from '../../world/account/key-ring.ts';
import { type Membership, ORGANIZATIONS } from '../../world/account/organizations.ts';
import type { World } from '../../world/world.ts';
import { findOrganizationId, outsideScope } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { refusal, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { memberRow, memberWithUserRow, organizationRow } from './organization-row.ts';

const roleBody = z.object({ role: z.enum(['admin', 'member', 'editor', 'viewer', 'collaborator']) });
const ORGANIZATION_PATH = '/api/v2/organizations/:org_id';
const MEMBER_PATH = `${ORGANIZATION_PATH}/members/:member_id`;
const ADMINISTRATORS_ONLY = 'only administrators of the organization can do this';

export interface OrganizationRouteDeps {
  readonly keys: KeyRing;
  readonly world: World;
}

export function addOrganizationRoutes(app: Hono<UpstreamEnv>, { keys, world }: OrganizationRouteDeps): void {
  app.get(ORGANIZATION_PATH, (c) =>
    inOrganization(c, (organizationId) => {
      const found = ORGANIZATIONS.find(({ id }) => id === organizationId);
      if (found === undefined) return refusal(c, 404, 'organization not found');
      return c.json(organizationRow(found, world));
    }),
  );
  app.get(`${ORGANIZATION_PATH}/members`, (c) =>
    inOrganization(c, (organizationId) => {
      const rows = keys.members.of(organizationId).map((each) => memberWithUserRow(each, world));
      return c.json({ members: rows, pagination: { sort_by: 'joined_at', sort_order: 'desc' } });
    }),
  );
  app.get(MEMBER_PATH, (c) => withMember(c, keys, (found) => c.json(memberRow(found, world))));
  app.patch(MEMBER_PATH, async (c) => {
    const parsed = await parseBody(c, roleBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { role } = parsed.body;
    return changeMember(c, keys, (found) => {
      keys.members.changeRole(found.id, role);
      return c.json(memberRow({ ...found, role }, world));
    });
  });
  app.delete(MEMBER_PATH, (c) =>
    changeMember(c, keys, ({ organizationId, userId }) => {
      keys.members.remove(organizationId, userId);
      return c.json({});
    }),
  );
}

function inOrganization(c: UpstreamContext, act: (organizationId: string) => Response): Response {
  const { projectId } = c.get('principal');
  if (projectId !== undefined) return outsideScope(c, projectId);
  const found = findOrganizationId(c, c.req.param('org_id'));
  return found instanceof Response ? found : act(found);
}

function withMember(
  c: UpstreamContext,
  { members }: KeyRing,
  act: (membership: Membership) => Response,
): Response {
  return inOrganization(c, (organizationId) => {
    const found = members.find(organizationId, c.req.param('member_id') ?? '');
    return found === undefined ? refusal(c, 404, 'member not found') : act(found);
  });
}

/** Only a person who administers the organization changes its members. An organization keeps an administrator. */
function changeMember(
  c: UpstreamContext,
  keys: KeyRing,
  act: (membership: Membership) => Response,
): Response {
  return withMember(c, keys, (found) => {
    const { kind, userId } = c.get('principal');
    const { members } = keys;
    if (kind !== 'personal' || !members.isAdmin(userId, found.organizationId))
      return refusal(c, 403, ADMINISTRATORS_ONLY);
    const admins = members.of(found.organizationId).filter(({ role }) => role === 'admin');
    if (admins.length === 1 && admins[0]?.id === found.id)
      return refusal(c, 422, 'the last administrator of the organization must stay');
    return act(found);
  });
}
