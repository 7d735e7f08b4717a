/** API keys: three kinds, who may make and revoke which, and what a request's key may do. Specification "API key". */

/** The organization that owns everything here. */
export const ORGANIZATION_ID = 'org-quiet-harbor-10000001';

/** Its people: the account's owner, who administers it, and a member. */
export const ADMIN_ID = 'user-admin';
export const MEMBER_ID = 'user-member';

export interface KeyRecord {
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

/** Who sends a request, by its key. */
export interface Principal {
  readonly kind: StoredKey['kind'];
  /** Of a personal key its user; of the others who made it. */
  readonly userId: string;
  readonly isAdmin: boolean;
  /** False once the user has left: a personal key then reaches no project of the organization. */
  readonly isMember: boolean;
  /** A project-scoped key acts on this project alone. */
  readonly projectId: string | undefined;
}

export type KeyOutcome<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: 403 | 404; readonly message: string };

export type KeyRing = ReturnType<typeof createKeyRing>;

const NOT_FOR_ORGANIZATION_KEYS = 'not allowed for organization API keys';
const ADMINISTRATORS_ONLY = 'only administrators of the organization can do this';

/** `drawSecret`: 64 characters that nobody can guess, from the seed. */
export function createKeyRing(options: {
  readonly secrets: Iterable<string>;
  readonly drawSecret: () => string;
  readonly now: () => number;
}) {
  const keys = new Map<string, StoredKey>();
  const members = new Set([ADMIN_ID, MEMBER_ID]);
  let lastId = 0;

  const put = (key: Pick<StoredKey, 'kind' | 'name' | 'secret' | 'ownerId' | 'project_id'>): StoredKey => {
    lastId += 1;
    const stored: StoredKey = {
      ...key,
      id: lastId,
      created_at: isoOf(options.now()),
      created_by: { id: key.ownerId, name: key.ownerId, image: '' },
      last_used_at: null,
      last_used_from_addr: '',
    };
    keys.set(stored.secret, stored);
    return stored;
  };
  const withId = (id: number) => [...keys.values()].find((key) => key.id === id);
  for (const secret of options.secrets) put({ kind: 'personal', name: 'console', secret, ownerId: ADMIN_ID });

  return {
    /** As the Console makes the first key of somebody. */
    add(secret: string, ownerId: string = ADMIN_ID): void {
      put({ kind: 'personal', name: 'console', secret, ownerId });
    },

    /** Immediate and permanent. */
    delete(secret: string): boolean {
      return keys.delete(secret);
    },

    /** Undefined: 401. Its use is noted on the key. */
    authenticate(secret: string, address = '127.0.0.1'): Principal | undefined {
      const key = keys.get(secret);
      if (key === undefined) return undefined;
      keys.set(secret, { ...key, last_used_at: isoOf(options.now()), last_used_from_addr: address });
      const { kind, ownerId: userId, project_id: projectId } = key;
      const isMember = kind !== 'personal' || members.has(userId);
      return { kind, userId, isAdmin: userId === ADMIN_ID && members.has(userId), isMember, projectId };
    },

    createPersonal({ kind, userId }: Principal, name: string): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      return shownOnce(put({ kind: 'personal', name, secret: options.drawSecret(), ownerId: userId }));
    },

    listPersonal({ kind, userId }: Principal): KeyOutcome<readonly KeyRecord[]> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      return newestFirst(
        [...keys.values()].filter((key) => key.kind === 'personal' && key.ownerId === userId),
      );
    },

    /** "A personal key only by its account owner." */
    revokePersonal({ kind, userId }: Principal, id: number): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      const key = withId(id);
      if (key?.kind !== 'personal' || key.ownerId !== userId) return refused(404, 'API key not found');
      keys.delete(key.secret);
      return revoked(key);
    },

    /** A personal key of an administrator; for one project, of any member. */
    createOrganization(
      { kind, userId, isAdmin, isMember }: Principal,
      { name, projectId }: { readonly name: string; readonly projectId: string | undefined },
    ): KeyOutcome<object> {
      if (kind !== 'personal') return refused(404, NOT_FOR_ORGANIZATION_KEYS);
      if (!isMember) return refused(404, 'organization not found');
      if (projectId === undefined && !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      const keyKind = projectId === undefined ? 'organization' : 'project';
      const secret = options.drawSecret();
      return shownOnce(put({ kind: keyKind, name, secret, ownerId: userId, project_id: projectId }));
    },

    listOrganization({ kind, isAdmin }: Principal): KeyOutcome<readonly KeyRecord[]> {
      if (kind === 'project' || !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      return newestFirst([...keys.values()].filter((key) => key.kind !== 'personal'));
    },

    revokeOrganization({ kind, isAdmin }: Principal, id: number): KeyOutcome<object> {
      if (kind === 'project' || !isAdmin) return refused(403, ADMINISTRATORS_ONLY);
      const key = withId(id);
      if (key === undefined || key.kind === 'personal') return refused(404, 'API key not found');
      keys.delete(key.secret);
      return revoked(key);
    },

    /** A user leaves the organization. */
    removeMember(userId: string): void {
      members.delete(userId);
    },

    /** A project leaves the organization: the keys that are scoped to it stop working. */
    removeProject(projectId: string): void {
      for (const key of keys.values()) if (key.project_id === projectId) keys.delete(key.secret);
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
