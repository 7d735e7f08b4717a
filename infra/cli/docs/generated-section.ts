/** Replaces one generated section of a page that people write. */

import { readFileSync } from 'node:fs';
import type { GeneratedFile } from './event-docs.ts';

/** The section stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Throws when the page lacks one of these lines. */
export function withSection(path: string, name: string, content: string): GeneratedFile {
  const page = readFileSync(path, 'utf8');
  const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} lacks the lines "${start}" and "${end}"`);
  return { path, text: `${page.slice(0, from + start.length)}\n\n${content.trim()}\n\n${page.slice(to)}` };
}
