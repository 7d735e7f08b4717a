/** `npm run generate` writes the generated documentation. A test fails when it is out of date. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { alertDocs } from './alert-docs.ts';
import { callDocs } from './call-docs.ts';
import { cliDocs } from './cli-docs.ts';
import { costDocs } from './cost-docs.ts';
import { eventDocs } from './event-docs.ts';
import { eventParsers } from './event-parsers.ts';
import { eventTypes } from './event-types.ts';
import { performanceDocs } from './performance-docs.ts';
import { subscriptionDocs } from './subscription-docs.ts';

for (const { path, text } of [
  ...eventDocs(),
  ...eventTypes(),
  ...eventParsers(),
  ...alertDocs(),
  ...callDocs(),
  ...cliDocs(),
  ...costDocs(),
  ...performanceDocs(),
  ...subscriptionDocs(),
]) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(path);
}
