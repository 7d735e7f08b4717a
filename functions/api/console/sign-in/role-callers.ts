/** Decides what a person may do, from the role that they have in the configuration now. */

import type { Caller } from '../../../../shared/callers/authorize.ts';
import { scopesNamed } from '../../../../shared/callers/scope-bundles.ts';
import type { SignInSettings } from '../../../../shared/config/sign-in-settings.ts';
import type { Person } from '../session/session.ts';

/** The function returns undefined when the configuration has no such role, or nobody signs in at a provider. */
export function createRoleCallers(
  settings: SignInSettings | undefined,
): (person: Person) => Caller | undefined {
  if (settings === undefined) return () => undefined;
  const roles = new Map(
    settings.roles.toReversed().map(({ value, scopes, project_ids }) => {
      const allowed = {
        scopes: new Set(scopes.flatMap((name) => scopesNamed(name) ?? [])),
        projectIds: project_ids && new Set(project_ids),
      };
      return [value, allowed] as const;
    }),
  );
  return ({ client_id, email, role }) => {
    const allowed = roles.get(role);
    if (allowed === undefined) return undefined;
    return { client_id, account_id: settings.account_id, ...allowed, ...(email && { email }) };
  };
}
