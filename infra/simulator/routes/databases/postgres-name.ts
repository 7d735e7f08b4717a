/** Checks the names of roles and databases. */

import * as z from 'zod';

/** Postgres cuts longer names (its `NAMEDATALEN` is 64 bytes with the end mark). */
const NAME_BYTES_MAX = 63;

export const postgresName = z
  .string()
  .min(1)
  .refine((name) => Buffer.byteLength(name) <= NAME_BYTES_MAX, `must have at most ${NAME_BYTES_MAX} bytes`);
