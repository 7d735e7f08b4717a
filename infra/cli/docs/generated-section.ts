/** Replaces one generated section of a page that people write. */

import { readFileSync } from 'node:fs';

export interface GeneratedFile {
  /** The path is relative to the project's root. */
  readonly path: string;
  readonly text: string;
}

/** The section stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Throws when the page lacks one of these lines. */
export function withSection(path: string, name: string, content: string): GeneratedFile {
  return withSections(path, { [name]: content });
}

/** Replaces several sections of one page, by their names. */
export function withSections(path: string, contents: Readonly<Record<string, string>>): GeneratedFile {
  const page = readFileSync(path, 'utf8');
  const text = Object.entries(contents).reduce(
    (before, [name, content]) => replaceSection(before, { path, name, content }),
    page,
  );
  return { path, text };
}

interface Section {
  readonly path: string;
  readonly name: string;
  readonly content: string;
}

function replaceSection(page: string, { path, name, content }: Section): string {
  const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} lacks the lines "${start}" and "${end}"`);
  return `${page.slice(0, from + start.length)}\n\n${content.trim()}\n\n${page.slice(to)}`;
}
