/** Defines what every list of the bridge takes and answers: a limit, a cursor, and a page of items. */

import * as z from 'zod';

/** One page costs one read of the table. A program may ask for a hundred items, and people see shorter pages. */
export const PAGE_MAX = 100;

export const limit = z.coerce.number().int().min(1).max(PAGE_MAX).default(50);
export const cursor = z.string().min(1).max(6_000).optional();

export const filterText = z.string().min(1).max(100).optional();

export const paged = (item: z.ZodType, of: string) =>
  z.object({
    [of]: z.array(item),
    cursor: z.string().optional().describe('For the next page; absent at the end.'),
  });
