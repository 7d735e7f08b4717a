/** Describes a freeze: a person holds all commands of an account, for an upstream incident or a change window. */

import * as z from 'zod';

export const accountFreeze = z.object({
  /** A lifted freeze stays in the table and holds nothing. */
  is_frozen: z.boolean(),
  /** A person wrote it for people. */
  reason: z.string(),
  /** The caller who froze the account or lifted the freeze. */
  client_id: z.string(),
  /** ISO 8601, by our clock. */
  changed_at: z.string(),
});

export type AccountFreeze = Readonly<z.output<typeof accountFreeze>>;
