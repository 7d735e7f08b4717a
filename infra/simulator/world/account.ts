/**
 * Keeps the API keys, the organizations and the people of the simulated account. There are three kinds of keys, with
 * rules on who may make and revoke them and what they may do (specification "API keys").
 */

import { ORGANIZATION_ID } from './project-state.ts';

interface KeyRecord {
  readonly id: number;
  readonly name: string;
  readonly created_at: string;
  readonly created_by: { readonly id: string; readonly name: string; readonly image: string };
  readonly last_used_at: string | null;
  readonly last_used_from_addr: string;
  readonly project_id?: string | undefined;
}

interface StoredKey extends KeyRecord {
  readonly kind: 'personal' | 'organization' | 'project';
  readonly secret: string;
  readonly ownerId: string;
}

/** This is who sends a request, as its key says. */
export interface Principal {
  readonly kind: StoredKey['kind'];
  /** This is the user of a personal key, or the user who made a key of another kind. */
  readonly userId: string;
  /** Projects are shared with the owner of a personal key by this address. */
  readonly email: string | undefined;
  readonly isAdmin: boolean;
  /** The key reaches the projects of these organizations: none once the user has left. */
  readonly organizationIds: readonly string[];
  /** A project-scoped key acts on this project alone. */
  readonly projectId: string | undefined;
}

export type KeyOutcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: 403 | 404; readonly message: string };

export type KeyRing = ReturnType<typeof createKeyRing>;

const NOT_FOR_ORGANIZATION_KEYS = 'not allowed for organization API keys';
const ADMINISTRATORS_ONLY = 'only administrators of the organization can do this';

export interface KeyRingOptions {
  /** These keys exist from the start. They are personal keys of the administrator. */
  readonly secrets: Iterable<string>;
  /** A key has 64 characters, which are drawn from the seed. */
  readonly drawSecret: () => string;
  /** This is the time of creation, in milliseconds since the epoch. */
  readonly now: () => number;
}

export function createKeyRing(options: KeyRingOptions) {
  const ring = createRing(options);
  for (const secret of options.secrets) ring.add(secret);
  return {
    add: ring.add,
    delete: ring.delete,
    authenticate: ring.authenticate,
    removeMember: ring.removeMember,
    removeProject: ring.removeProject,
    members: ring.members,
    ...personalKeys(ring, options.drawSecret),
    ...organizationKeys(ring, options.drawSecret),
  };
}

type Ring = ReturnType<typeof createRing>;

/** Keeps the keys and members themselves, without the rules on who may do what. */
function createRing({ now }: KeyRingOptions) {
  const keys = new Map<string, StoredKey>();
  const members = createMembers();
  let lastId = 0;

  const put = (key: NewKey): StoredKey => {
    lastId += 1;
    const stored: StoredKey = {
      ...key,
      id: lastId,
      created_at: isoOf(now()),
      created_by: { id: key.ownerId, name: key.ownerId, image: '' },
      last_used_at: null,
      last_used_from_addr: '',
    };
    keys.set(stored.secret, stored);
    return stored;
  };

  return {
    put,
    members,
    all: () => [...keys.values()],
    withId: (id: number) => [...keys.values()].find((key) => key.id === id),

    /** Adds a personal key, as the Console makes the first key of each person. */
    add: (secret: string, ownerId: string = ADMIN_ID): void => {
      put({ kind: 'personal', name: 'console', secret, ownerId });
    },

    /** Revokes the key at once and for ever. Returns false when there is no such key. */
    delete: (secret: string) => keys.delete(secret),

    /** Returns undefined when the answer must be a 401. The key remembers when and from where it was used. */
    authenticate: (secret: string, address = '127.0.0.1'): Principal | undefined => {
      const key = keys.get(secret);
      if (key === undefined) return undefined;
      keys.set(secret, { ...key, last_used_at: isoOf(now()), last_used_from_addr: address });
      return principalOf(key, members);
    },

    /** Makes a user leave the organization. */
    removeMember: (userId: string) => members.remove(ORGANIZATION_ID, userId),

    /** Makes a project leave the organization. The keys that are scoped to it stop working. */
    removeProject: (projectId: string): void => {
      for (const key of keys.values()) if (key.project_id === projectId) keys.delete(key.secret);
    },
  };
}

function principalOf(
  { kind, ownerId: userId, project_id: projectId }: StoredKey,
  members: Members,
): Principal {
  return {
    kind,
    userId,
    email: kind === 'personal' ? findPerson(userId).email : undefined,
    isAdmin: members.isAdmin(userId, ORGANIZATION_ID),
    organizationIds: kind === 'personal' ? members.organizationIdsOf(userId) : [ORGANIZATION_ID],
    projectId,
  };
}

type NewKey = Pick<StoredKey, 'kind' | 'name' | 'secret' | 'ownerId' | 'project_id'>;

function personalKeys(ring: Ring, drawSecret: () => string) {
  return {
    createPersonal({ kind, userId }: Principal, name: string): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      return shownOnce(ring.put({ kind: 'personal', name, secret: drawSecret(), ownerId: userId }));
    },

    listPersonal({ kind, userId }: Principal): KeyOutcome<readonly KeyRecord[]> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      return newestFirst(ring.all().filter((key) => key.kind === 'personal' && key.ownerId === userId));
    },

    /** The specification says that a personal key is revoked "only by its account owner". */
    revokePersonal({ kind, userId }: Principal, id: number): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      const key = ring.withId(id);
      if (key?.kind !== 'personal' || key.ownerId !== userId) return refused(404, 'API key not found');
      ring.delete(key.secret);
      return revoked(key);
    },
  };
}

/** Makes and lists the keys of the organization, and the keys that are scoped to one project. */
function organizationKeys(ring: Ring, drawSecret: () => string) {
  return {
    /** An administrator makes keys of the organization; every member makes keys of one project. */
    createOrganization(
      { kind, userId, isAdmin, organizationIds }: Principal,
      { name, projectId }: { readonly name: string; readonly projectId: string | undefined },
    ): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      if (!organizationIds.includes(ORGANIZATION_ID)) return refused(404, 'organization not found');
      if (projectId === undefined && !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      const keyKind = projectId === undefined ? 'organization' : 'project';
      const secret = drawSecret();
      return shownOnce(ring.put({ kind: keyKind, name, secret, ownerId: userId, project_id: projectId }));
    },

    listOrganization({ kind, isAdmin }: Principal): KeyOutcome<readonly KeyRecord[]> {
      if (kind === 'project' || !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      return newestFirst(ring.all().filter((key) => key.kind !== 'personal'));
    },

    revokeOrganization({ kind, isAdmin }: Principal, id: number): KeyOutcome<object> {
      if (kind === 'project' || !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      const key = ring.withId(id);
      if (key === undefined || key.kind === 'personal') return refused(404, 'API key not found');
      ring.delete(key.secret);
      return revoked(key);
    },
  };
}

function newestFirst(keys: readonly StoredKey[]): KeyOutcome<readonly KeyRecord[]> {
  return { kind: 'done', value: keys.map(shown).toReversed() };
}

/** The secret is shown in this answer and never again. Who made it is an id here, and an object in lists (observed). */
function shownOnce(key: StoredKey): KeyOutcome<object> {
  const { id, name, created_at, created_by, project_id } = key;
  const scope = project_id === undefined ? {} : { project_id };
  return {
    kind: 'done',
    value: { id, key: key.secret, name, created_at, created_by: created_by.id, ...scope },
  };
}

function revoked(key: StoredKey): KeyOutcome<object> {
  return { kind: 'done', value: { ...shown(key), created_by: key.created_by.id, revoked: true } };
}

function shown({
  kind: _kind,
  secret: _secret,
  ownerId: _ownerId,
  project_id,
  ...record
}: StoredKey): KeyRecord {
  return project_id === undefined ? record : { ...record, project_id };
}

function refused(status: 403 | 404, message: string): KeyOutcome<never> {
  return { kind: 'refused', status, message };
}

function isoOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly handle: string;
}

/** Projects can be transferred to this organization, to which only the administrator belongs. */
export const SECOND_ORGANIZATION_ID = 'org-young-meadow-20000002';

export const ORGANIZATIONS: readonly Organization[] = [
  { id: ORGANIZATION_ID, name: 'Quiet Harbor', handle: 'quiet-harbor' },
  { id: SECOND_ORGANIZATION_ID, name: 'Young Meadow', handle: 'young-meadow' },
];

interface Person {
  readonly id: string;
  readonly name: string;
  readonly lastName: string;
  readonly email: string;
}

export interface Membership {
  readonly id: string;
  readonly userId: string;
  readonly organizationId: string;
  readonly role: 'admin' | 'member' | 'editor' | 'viewer' | 'collaborator';
}

/** The first organization has two people: an administrator, who owns the account, and a member. */
const ADMIN_ID = 'a1b5cf3e-2c44-4c4f-9d6b-0d5f8c1e7a01';
export const MEMBER_ID = 'a1b5cf3e-2c44-4c4f-9d6b-0d5f8c1e7a02';

const PEOPLE: readonly Person[] = [
  { id: ADMIN_ID, name: 'Ada', lastName: 'Owner', email: 'owner@example.com' },
  { id: MEMBER_ID, name: 'Mel', lastName: 'Member', email: 'member@example.com' },
];

const FIRST_MEMBERSHIPS: readonly Membership[] = [
  membership('01', ADMIN_ID, ORGANIZATION_ID, 'admin'),
  membership('02', ADMIN_ID, SECOND_ORGANIZATION_ID, 'admin'),
  membership('03', MEMBER_ID, ORGANIZATION_ID, 'member'),
];

function membership(
  number: string,
  userId: string,
  organizationId: string,
  role: Membership['role'],
): Membership {
  return { id: `5f0b9d1e-6a3c-4c1d-9b1f-0a1b2c3d4e${number}`, userId, organizationId, role };
}

/** A person who is not in the list has a key of the Console and belongs to no organization. */
export function findPerson(id: string): Person {
  return (
    PEOPLE.find((person) => person.id === id) ?? { id, name: id, lastName: '', email: `${id}@example.com` }
  );
}

type Members = ReturnType<typeof createMembers>;

function createMembers() {
  let memberships = FIRST_MEMBERSHIPS;
  return {
    of: (organizationId: string) => memberships.filter((each) => each.organizationId === organizationId),
    organizationIdsOf: (userId: string) =>
      memberships.filter((each) => each.userId === userId).map(({ organizationId }) => organizationId),
    isAdmin: (userId: string, organizationId: string) =>
      memberships.some(
        (each) => each.userId === userId && each.organizationId === organizationId && each.role === 'admin',
      ),
    find: (organizationId: string, id: string) =>
      memberships.find((each) => each.organizationId === organizationId && each.id === id),
    changeRole: (id: string, role: Membership['role']): void => {
      memberships = memberships.map((each) => (each.id === id ? { ...each, role } : each));
    },
    remove: (organizationId: string, userId: string): void => {
      memberships = memberships.filter(
        (each) => each.userId !== userId || each.organizationId !== organizationId,
      );
    },
  };
}
