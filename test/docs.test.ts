import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventDocs } from '../infra/docs/event-docs.ts';
import { eventCatalog } from '../shared/events/catalog.ts';

const ROOT = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

describe('the documentation', () => {
  test.each(eventDocs())('$path is what the definitions say (npm run generate)', ({ path, text }) => {
    expect(read(path)).toBe(text);
  });

  test.each(eventCatalog)('the example of $detailType is one', ({ detail, example }) => {
    expect(detail.strict().safeParse(example).error).toBeUndefined();
  });

  test('every dependency is justified in one line', () => {
    const lines = read('docs/dependencies.md').split('\n');
    const names = Object.keys({ ...manifest['dependencies'], ...manifest['devDependencies'] });

    expect(names.filter((name) => !lines.some((line) => line.startsWith(`| \`${name}\` |`)))).toEqual([]);
  });

  test('every npm script that a page names exists', () => {
    const pages = ['README.md', 'docs/architecture.md', 'docs/operations.md'].map(read).join('\n');
    const named = [...pages.matchAll(/npm run ([a-z:]+)/g)].map((match) => match[1] ?? '');

    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in (manifest['scripts'] ?? {})))).toEqual([]);
  });

  test('every file and folder that a page links to exists', () => {
    for (const page of ['README.md', 'docs/architecture.md', 'docs/operations.md']) {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(
        (match) => match[1] ?? '',
      );
      for (const link of links) expect(() => read(join(page, '..', link))).not.toThrow();
    }
  });
});
