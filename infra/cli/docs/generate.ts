/** `npm run generate` writes the generated documentation. A test fails when it is out of date. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { costDocs } from './cost-docs.ts';
import { alertDocs, eventDocs } from './event-docs.ts';
import { eventParsers, eventTypes } from './event-types.ts';
import { architecturePicture, callDocs, cliDocs, llmsText, subscriptionDocs } from './generated-sections.ts';

for (const { path, text } of [
  ...eventDocs(),
  ...eventTypes(),
  ...eventParsers(),
  ...alertDocs(),
  ...callDocs(),
  ...cliDocs(),
  ...costDocs(),
  ...subscriptionDocs(),
  architecturePicture(),
  llmsText(),
]) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(path);
}
