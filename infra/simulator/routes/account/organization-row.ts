/** Shows organizations and their members as the service does (public contract). */

import { findPerson, type Membership, type Organization } from '../../world/account/organizations.ts';
import { wholeSeconds } from '../rows.ts';

/** The plan of an account has the name that is observed in public payloads. */
export function organizationRow({ id, name, handle }: Organization, bornAtMs: number): object {
  const created_at = wholeSeconds(bornAtMs);
  return { id, name, handle, plan: 'free_v3', created_at, managed_by: 'console', updated_at: created_at };
}

export function memberRow({ id, userId, organizationId, role }: Membership, bornAtMs: number): object {
  return { id, user_id: userId, org_id: organizationId, role, joined_at: wholeSeconds(bornAtMs) };
}

export function memberWithUserRow(membership: Membership, bornAtMs: number): object {
  const { email } = findPerson(membership.userId);
  return { member: memberRow(membership, bornAtMs), user: { email, has_mfa: false } };
}
