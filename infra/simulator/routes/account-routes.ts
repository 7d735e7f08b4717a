/**
 * Handles the calls of the account (public contract): who the caller is, organizations and their members, regions, and
 * API keys.
 */

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
  type Handlers,
  outsideScope,
  refusal,
  type UpstreamContext,
  withBody,
} from './requests.ts';
import { wholeSeconds } from './rows.ts';

/** The service limits the projects of a person; the active time of paid plans has no limit (observed: 0). */
const LIMITS = { projects_limit: 100, active_seconds_limit: 0 };

export function userHandlers({ world }: { readonly world: World }): Handlers {
  return {
    getCurrentUser: (c) =>
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
    listCurrentUserOrganizations: (c) =>
      ofPerson(c, () => {
        const { organizationIds } = c.get('principal');
        const own = ORGANIZATIONS.filter(({ id }) => organizationIds.includes(id));
        return c.json({ organizations: own.map((organization) => organizationRow(organization, world)) });
      }),
    getAuthDetails: (c) => {
      const { kind, userId, organizationIds } = c.get('principal');
      return kind === 'personal'
        ? c.json({ account_id: userId, auth_method: 'api_key_user' })
        : c.json({ account_id: organizationIds[0] ?? userId, auth_method: 'api_key_org' });
    },
  };
}

/** A key of an organization or of a project belongs to no person (observed: 404 with this sentence). */
function ofPerson(c: UpstreamContext, answer: (userId: string) => Response): Response {
  const { kind, userId, projectId } = c.get('principal');
  if (projectId !== undefined) return outsideScope(c, projectId);
  return kind === 'personal' ? answer(userId) : refusal(c, 404, 'not allowed for organization API keys');
}

const roleBody = z.object({ role: z.enum(['admin', 'member', 'editor', 'viewer', 'collaborator']) });
const ADMINISTRATORS_ONLY = 'only administrators of the organization can do this';

export interface OrganizationRouteDeps {
  readonly keys: KeyRing;
  readonly world: World;
}

export function organizationHandlers({ keys, world }: OrganizationRouteDeps): Handlers {
  return {
    getOrganization: (c) =>
      inOrganization(c, (organizationId) => {
        const found = ORGANIZATIONS.find(({ id }) => id === organizationId);
        if (found === undefined) return refusal(c, 404, 'organization not found');
        return c.json(organizationRow(found, world));
      }),
    listMembers: (c) =>
      inOrganization(c, (organizationId) => {
        const rows = keys.members.of(organizationId).map((each) => memberWithUserRow(each, world));
        return c.json({ members: rows, pagination: { sort_by: 'joined_at', sort_order: 'desc' } });
      }),
    getMember: (c) => withMember(c, keys, (found) => c.json(memberRow(found, world))),
    updateMember: withBody(roleBody, (c, { role }) =>
      changeMember(c, keys, (found) => {
        keys.members.changeRole(found.id, role);
        return c.json(memberRow({ ...found, role }, world));
      }),
    ),
    removeMember: (c) =>
      changeMember(c, keys, ({ organizationId, userId }) => {
        keys.members.remove(organizationId, userId);
        return c.json({});
      }),
  };
}

export function inOrganization(c: UpstreamContext, act: (organizationId: string) => Response): Response {
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

export const regionHandlers: Handlers = {
  listRegions: (c) =>
    c.json({
      regions: REGIONS.map(({ id, name, latitude, longitude }) => ({
        region_id: id,
        name,
        default: id === DEFAULT_PROJECT.regionId,
        geo_lat: latitude,
        geo_long: longitude,
      })),
    }),
};

/** A key's name has at most 64 characters (public contract). */
const keyName = z.string().min(1).max(64);
const personalBody = z.object({ key_name: keyName });
const organizationBody = z.object({ key_name: keyName, project_id: z.string().optional() });

export function keyHandlers(keys: KeyRing): Handlers {
  const idOf = (c: UpstreamContext) => Number(c.req.param('key_id'));
  return {
    listApiKeys: (c) => unscoped(c, () => answerWith(c, keys.listPersonal(c.get('principal')))),
    createApiKey: withBody(personalBody, (c, { key_name }) =>
      unscoped(c, () => answerWith(c, keys.createPersonal(c.get('principal'), key_name))),
    ),
    revokeApiKey: (c) => unscoped(c, () => answerWith(c, keys.revokePersonal(c.get('principal'), idOf(c)))),
    listOrganizationApiKeys: (c) =>
      ofOrganization(c, () => answerWith(c, keys.listOrganization(c.get('principal')))),
    createOrganizationApiKey: withBody(organizationBody, (c, { key_name: name, project_id: projectId }) =>
      ofOrganization(c, () => {
        const project = projectId === undefined ? undefined : findProject(c, projectId);
        if (project instanceof Response) return project;
        if (project !== undefined && project.settings.organizationId !== ORGANIZATION_ID)
          return refusal(c, 404, 'project not found');
        return answerWith(c, keys.createOrganization(c.get('principal'), { name, projectId }));
      }),
    ),
    revokeOrganizationApiKey: (c) =>
      ofOrganization(c, () => answerWith(c, keys.revokeOrganization(c.get('principal'), idOf(c)))),
  };
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
