/** Defines the cursor of a list. It says where a page begins, as the previous page gave it. */

import * as z from 'zod';

export const pageCursor = z.string().min(1).max(1_000).optional();
