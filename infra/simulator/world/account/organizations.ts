/** Keeps the organizations and people of the simulated account, and who belongs where. */

import { ORGANIZATION_ID } from '../state/project-settings.ts';

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
export const ADMIN_ID = 'user-admin';
export const MEMBER_ID = 'user-member';

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

export type Members = ReturnType<typeof createMembers>;

export function createMembers() {
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
