/** `npm run cost` prints the table of docs/cost.md. */

import { costPage } from './docs/cost-docs.ts';

console.log(costPage());
