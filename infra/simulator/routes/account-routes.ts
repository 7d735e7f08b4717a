/**
 * Adds the routes of the account (public contract): who the caller is, organizations and their members, regions, and
 * API keys.
 */

import type { Hono } from 'hono';
import * as z from 'zod';
import {
  findPerson,
  type KeyOutcome,
  type KeyRing,
  type Membership,
  ORGANIZATIONS,
  type Organization,
} from '../world/account.ts';
import { AUTOSCALING_CU_MAX, REGIONS } from '../world/offer.ts';
import { DEFAULT_PROJECT, ORGANIZATION_ID } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import {
  findOrganizationId,
  findProject,
  outsideScope,
  parseBody,
  refusal,
  type UpstreamContext,
  type UpstreamEnv,
} from './requests.ts';
import { wholeSeconds } from './rows.ts';

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

function organizationRow({ id, name, handle }: Organization, { plan, accountCreatedAtMs }: World): object {
  const created_at = wholeSeconds(accountCreatedAtMs);
  return {
    id,
    name,
    handle,
    plan: plan.subscriptionType,
    created_at,
    managed_by: 'console',
    updated_at: created_at,
  };
}

function memberRow({ id, userId, organizationId, role }: Membership, { accountCreatedAtMs }: World): object {
  return { id, user_id: userId, org_id: organizationId, role, joined_at: wholeSeconds(accountCreatedAtMs) };
}

function memberWithUserRow(membership: Membership, world: World): object {
  const { email } = findPerson(membership.userId);
  return { member: memberRow(membership, world), user: { email, has_mfa: false } };
}

export function addRegionRoutes(app: Hono<UpstreamEnv>): void {
  app.get('/api/v2/regions', (c) =>
    c.json({
      regions: REGIONS.map(({ id, name, latitude, longitude }) => ({
        region_id: id,
        name,
        default: id === DEFAULT_PROJECT.regionId,
        geo_lat: latitude,
        geo_long: longitude,
      })),
    }),
  );
}

/** A key's name has at most 64 characters (public contract). */
const keyName = z.string().min(1).max(64);
const personalBody = z.object({ key_name: keyName });
const organizationBody = z.object({ key_name: keyName, project_id: z.string().optional() });

export function addKeyRoutes(app: Hono<UpstreamEnv>, keys: KeyRing): void {
  app.get('/api/v2/api_keys', (c) => unscoped(c, () => answerWith(c, keys.listPersonal(c.get('principal')))));
  app.post('/api/v2/api_keys', async (c) => {
    const parsed = await parseBody(c, personalBody);
    if (parsed.kind === 'refused') return parsed.response;
    return unscoped(c, () => answerWith(c, keys.createPersonal(c.get('principal'), parsed.body.key_name)));
  });
  app.delete('/api/v2/api_keys/:key_id', (c) =>
    unscoped(c, () => answerWith(c, keys.revokePersonal(c.get('principal'), Number(c.req.param('key_id'))))),
  );

  const base = '/api/v2/organizations/:org_id/api_keys';
  app.get(base, (c) => ofOrganization(c, () => answerWith(c, keys.listOrganization(c.get('principal')))));
  app.post(base, async (c) => {
    const parsed = await parseBody(c, organizationBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { key_name: name, project_id: projectId } = parsed.body;
    return ofOrganization(c, () => {
      const project = projectId === undefined ? undefined : findProject(c, projectId);
      if (project instanceof Response) return project;
      if (project !== undefined && project.settings.organizationId !== ORGANIZATION_ID)
        return refusal(c, 404, 'project not found');
      return answerWith(c, keys.createOrganization(c.get('principal'), { name, projectId }));
    });
  });
  app.delete(`${base}/:key_id`, (c) =>
    ofOrganization(c, () =>
      answerWith(c, keys.revokeOrganization(c.get('principal'), Number(c.req.param('key_id')))),
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

function answerWith(c: UpstreamContext, outcome: KeyOutcome<object>): Response {
  if (outcome.kind === 'refused') return refusal(c, outcome.status, outcome.message);
  return c.json(outcome.value);
}
