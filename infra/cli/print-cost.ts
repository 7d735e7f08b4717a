/** `npm run cost`: the table of docs/cost.md in the terminal. */

import { costPage } from './docs/cost-docs.ts';

console.log(costPage());
