/** Names the root folder of the project. */

import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');
