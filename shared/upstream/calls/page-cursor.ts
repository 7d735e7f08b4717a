/** Where a page of a list begins, as the page before gave it. */

import * as z from 'zod';

export const pageCursor = z.string().min(1).max(1_000).optional();
