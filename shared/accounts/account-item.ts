/** Defines what the table keeps of an account that was added, paused or removed while the bridge runs. */

import * as z from 'zod';
import type { Item } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';
import { accountSettings, accountShape, LANES_MAX } from './account-settings.ts';

export const lane = z
  .int()
  .min(0)
  .max(LANES_MAX - 1);

/** The upstream names its owners by short ids. */
export const OWNER_CHARACTERS_MAX = 200;

export const accountItem = z.object({
  account_id: accountShape.account_id,
  /** Each change raises it by one, and holds only if nobody else has changed the item meanwhile. */
  version: z.int().positive(),
  /**
   * The account is added for so many times under this id, removed accounts of the id included. What belongs to one life
   * of an account names its generation. It is absent in the first life.
   */
  generation: z.int().positive().optional(),
  /**
   * A paused account is not polled and sends no command. A removed one is not served, and its item stays, because the
   * next account of the id must not be taken for it.
   */
  state: z.enum(['active', 'paused', 'removed']),
  /** The upstream says that the key belongs to this owner. It is absent when the upstream has not said so. */
  owner: z.string().max(OWNER_CHARACTERS_MAX).optional(),
  /** The records of a removed account are being deleted, or are deleted, and then anybody may have the id. */
  purge: z.enum(['begun', 'done']).optional(),
  /** Each write has another one, by which a writer knows its own write. */
  change_id: z.string().optional(),
  /** The account has this state since then. Items of earlier versions do not say. ISO 8601. */
  state_since: z.string().optional(),
  /** It is absent in the item of a configured account, whose settings come with the deployment. */
  settings: accountSettings.optional(),
  /** The account is polled in this lane. It is absent when the lane follows from the account's id. */
  lane: lane.optional(),
  /** These four say when and by which caller the item was made and last changed; times are ISO 8601. */
  added_at: z.string(),
  added_by: z.string(),
  changed_at: z.string(),
  changed_by: z.string(),
});

export type AccountItem = z.output<typeof accountItem>;

export const ACCOUNT_ATTRIBUTES: readonly string[] = Object.keys(accountItem.shape);

/** Returns the generation of what was made before there were generations, too. */
export function generationOf(made: { readonly generation?: number | undefined } | undefined): number {
  return made?.generation ?? 1;
}

/** Returns the generation of the account that follows a removed one. */
export function nextGeneration(removed: AccountItem): number {
  return generationOf(removed) + 1;
}

/** Leaves out items that cannot be read, and notes them, so that each hides only its own account. */
export function readableAccounts(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly AccountItem[] {
  return items.flatMap((item) => {
    const { data, error } = accountItem.safeParse(item);
    if (data !== undefined) return data;
    const fields = error.issues.map(({ path }) => path.join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return [];
  });
}
