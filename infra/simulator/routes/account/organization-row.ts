/** Shows organizations and their members as the service does (public contract). */

import { findPerson, type Membership, type Organization } from '../../world/account/organizations.ts';
import type { World } from '../../world/world.ts';
import { wholeSeconds } from '../rows.ts';

export function organizationRow(
  { id, name, handle }: Organization,
  { plan, accountCreatedAtMs }: World,
): object {
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

export function memberRow(
  { id, userId, organizationId, role }: Membership,
  { accountCreatedAtMs }: World,
): object {
  return { id, user_id: userId, org_id: organizationId, role, joined_at: wholeSeconds(accountCreatedAtMs) };
}

export function memberWithUserRow(membership: Membership, world: World): object {
  const { email } = findPerson(membership.userId);
  return { member: memberRow(membership, world), user: { email, has_mfa: false } };
}
