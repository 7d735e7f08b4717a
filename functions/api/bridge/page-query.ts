/** What every list of the bridge takes and answers: a limit, a cursor, and a page of items. */

import * as z from 'zod';

/** One page is one read of the table: people see shorter pages, and a program may ask for a hundred items. */
export const PAGE_MAX = 100;

export const limit = z.coerce.number().int().min(1).max(PAGE_MAX).default(50);
export const cursor = z.string().min(1).max(6_000).optional();

/** The value of a filter. */
export const filterText = z.string().min(1).max(100).optional();

export const paged = (item: z.ZodType, of: string) =>
  z.object({
    [of]: z.array(item),
    cursor: z.string().optional().describe('For the next page; absent at the end.'),
  });
