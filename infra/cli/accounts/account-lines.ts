/** Prints accounts for people. */

import * as z from 'zod';

export const accountAnswer = z.looseObject({
  account_id: z.string(),
  /** These two are absent for a token without `accounts:read`, which sees only its own account. */
  state: z.string().optional(),
  origin: z.string().optional(),
  lane: z.number().optional(),
  fault: z.string().optional(),
  project_count: z.number().optional(),
  healthy: z.boolean().optional(),
  reasons: z.array(z.string()).optional(),
  settings: z
    .looseObject({ key_secret_id: z.string(), command_key_secret_id: z.string().optional() })
    .optional(),
});

export type AccountAnswer = z.output<typeof accountAnswer>;

/** Returns a line such as `tenant  active  added  lane 3  12 projects  healthy`. */
export function lineOfAccount(account: AccountAnswer): string {
  const { account_id, state, origin, lane, project_count } = account;
  const parts = [
    account_id,
    ...(state === undefined ? [] : [state]),
    ...(origin === undefined ? [] : [origin]),
    ...(lane === undefined ? [] : [`lane ${lane}`]),
    ...(project_count === undefined ? [] : [`${project_count} projects`]),
    ...healthWords(account),
  ];
  return parts.join('  ');
}

function healthWords({ state, fault, healthy, reasons = [] }: AccountAnswer): readonly string[] {
  if (fault !== undefined) return [fault];
  // A paused account is not polled, so it has not been read for a while, and nothing is wrong with that.
  if (state !== 'active' || healthy === undefined) return [];
  return healthy ? ['healthy'] : reasons;
}
