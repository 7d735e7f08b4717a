/** Judges the settings of an account before they count: their form, what the deployment allows, and what has to be tried. */

import { isDeepStrictEqual } from 'node:util';
import { accountFaults } from '../../../shared/accounts/account-faults.ts';
import { type AccountSettings, accountSettings } from '../../../shared/accounts/account-settings.ts';
import type { AccountRules } from '../../../shared/config/account-rules.ts';
import { plainWords } from '../../../shared/runtime/plain-words.ts';
import { invalid } from '../serving/problem.ts';

/** What is not given stays. `null` takes a setting back to its default. */
export type WantedSettings = { readonly [Name in keyof AccountSettings]?: AccountSettings[Name] | null };

/**
 * The default secret bears the id of the account. Throws `Problem` `invalid-request` when a field is wrong, or is not
 * allowed by the deployment.
 */
export function judgeSettings(input: { readonly account_id: string }, rules: AccountRules): AccountSettings {
  const key_secret_id = `${rules.keySecretPrefix}${input.account_id}`;
  const { data, error } = accountSettings.safeParse({ key_secret_id, ...input }, { error: plainWords });
  if (error !== undefined)
    throw invalid(
      error.issues.map(({ path, message }) => ({ field: ['body', ...path].join('.'), reason: message })),
    );
  const faults = accountFaults(data, rules);
  if (faults.length > 0)
    throw invalid(faults.map(({ field, reason }) => ({ field: `body.${field}`, reason })));
  return data;
}

/** Returns the settings as they are after the change. Throws like `judgeSettings`. */
export function changedSettings(
  found: AccountSettings,
  wanted: WantedSettings,
  rules: AccountRules,
): AccountSettings {
  const kept = Object.entries({ ...found, ...wanted }).filter(([, value]) => value !== null);
  return judgeSettings({ ...Object.fromEntries(kept), account_id: found.account_id }, rules);
}

/**
 * Whether a key sees what it should is known only after it was tried. A key that is named again is tried again, because
 * its secret may hold another one now.
 */
const TRIED = ['key_secret_id', 'command_key_secret_id', 'project_ids'] as const;

export function mustBeTried(wanted: WantedSettings): boolean {
  return TRIED.some((name) => wanted[name] !== undefined);
}

/** Returns the names of the settings that are not the same, in the order of the alphabet. */
export function differingSettings(one: object, other: object): readonly string[] {
  const [a, b] = [one, other] as readonly Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !isDeepStrictEqual(a?.[name], b?.[name])).toSorted();
}
