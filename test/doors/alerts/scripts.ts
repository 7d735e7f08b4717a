/** Lists all scripts. */

import type { Script } from './script.ts';
import { failing } from './scripts/channels.ts';
import { disorder } from './scripts/disorder.ts';
import { gathering } from './scripts/gathering.ts';
import { kinds } from './scripts/kinds.ts';
import { pages } from './scripts/pages.ts';
import { people } from './scripts/people.ts';

export const scripts: readonly Script[] = [
  ...kinds,
  ...gathering,
  ...people,
  ...disorder,
  ...failing,
  ...pages,
];
