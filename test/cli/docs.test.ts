import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BOUND_NAMES } from '../../functions/poller/account/note-bound.ts';
import { alertDocs } from '../../infra/cli/docs/alert-docs.ts';
import { apiDocs } from '../../infra/cli/docs/api-docs.ts';
import { costDocs } from '../../infra/cli/docs/cost-docs.ts';
import { eventDocs } from '../../infra/cli/docs/event-docs.ts';
import { boundGroups, limitDocs } from '../../infra/cli/docs/limit-docs.ts';
import { createFaultDials } from '../../infra/simulator/faults/faults.ts';
import { SERVE_HELP } from '../../infra/simulator/serve-options.ts';
import { eventCatalog } from '../../shared/events/catalog.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const PAGES = [
  'README.md',
  'docs/architecture.md',
  'docs/operations.md',
  'docs/upstream.md',
  'docs/alerts.md',
  'docs/api.md',
  'docs/console.md',
  'docs/performance.md',
  'docs/limits.md',
];
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

describe('the documentation', () => {
  test.each([...eventDocs(), ...alertDocs(), ...apiDocs(), ...costDocs(), ...limitDocs()])(
    '$path is what the definitions say (npm run generate)',
    ({ path, text }) => {
      expect(read(path)).toBe(text);
    },
  );

  test.each(eventCatalog)('the example of $detailType is one', ({ detail, example }) => {
    expect(detail.strict().safeParse(example).error).toBeUndefined();
  });

  test('every bound that the poller reports by name has a row of its own in docs/limits.md', () => {
    const signals = boundGroups.flatMap(({ bounds }) => bounds.map(({ signal }) => signal));

    for (const name of BOUND_NAMES)
      expect(
        signals.filter((signal) => signal.includes(`bound: ${name}\``)),
        name,
      ).toHaveLength(1);
  });

  test('every dependency is justified in one line', () => {
    const lines = read('docs/dependencies.md').split('\n');
    const names = Object.keys({ ...manifest['dependencies'], ...manifest['devDependencies'] });

    expect(names.filter((name) => !lines.some((line) => line.startsWith(`| \`${name}\` |`)))).toEqual([]);
  });

  test('the page on the simulated service has every call, dial, option and control', () => {
    const page = read('docs/upstream.md');
    const source = read('infra/simulator/routes/control-routes.ts');
    const controls = [...source.matchAll(/'(\/_control\/[^']+)'/g)].map((match) => match[1] ?? '');
    const paths = controls.map((path) => path.replaceAll(/:(\w+)/g, '{$1}'));
    const options = [...SERVE_HELP.matchAll(/^ {2}(--[a-z-]+)/gm)].map((match) => match[1] ?? '');
    const named = [...Object.keys(calls), ...Object.keys(createFaultDials()), ...paths];

    expect(named.filter((name) => !page.includes(name))).toEqual([]);
    expect(options.length).toBeGreaterThan(8);
  });

  test('every npm script that a page names exists', () => {
    const pages = PAGES.map(read).join('\n');
    const named = [...pages.matchAll(/npm run ([a-z:-]+)/g)].map((match) => match[1] ?? '');

    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in (manifest['scripts'] ?? {})))).toEqual([]);
  });

  test('every file and folder that a page links to exists', () => {
    for (const page of PAGES) {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map(
        (match) => match[1] ?? '',
      );
      for (const link of links) expect(() => read(join(page, '..', link))).not.toThrow();
    }
  });
});
