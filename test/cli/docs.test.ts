import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { API_VERSION } from '../../functions/api/documentation/documentation-routes.ts';
import { bridgeConfigSchema } from '../../infra/bridge-config.ts';
import { costDocs } from '../../infra/cli/docs/cost-docs.ts';
import { alertDocs, eventDocs } from '../../infra/cli/docs/event-docs.ts';
import { eventParsers, eventTypes } from '../../infra/cli/docs/event-types.ts';
import {
  architecturePicture,
  callDocs,
  cliDocs,
  subscriptionDocs,
} from '../../infra/cli/docs/generated-sections.ts';
import { refuseClosedVersion } from '../../infra/release/project.ts';
import { createFaultDials } from '../../infra/simulator/faults.ts';
import { declareServeOptions } from '../../infra/simulator/serve-options.ts';
import { eventCatalog } from '../../shared/events/catalog.ts';
import { metricUnits } from '../../shared/runtime/telemetry.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { performanceDocs } from '../bench/report/performance-page.ts';
import { programs } from '../programs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
/** People read all of these pages. `docs/alerts` and `docs/schemas` hold generated samples. */
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

describe('the documentation', () => {
  test.each([
    ...eventDocs(),
    ...eventTypes(),
    ...eventParsers(),
    ...alertDocs(),
    ...callDocs(),
    ...cliDocs(),
    ...costDocs(),
    ...subscriptionDocs(),
    architecturePicture(),
  ])('$path agrees with the definitions (npm run generate)', ({ path, text }) => {
    expect(read(path)).toBe(text);
  });

  test.each(performanceDocs())(
    '$path shows what the benchmark has recorded (npm run bench -- --record)',
    ({ path, text }) => {
      expect(read(path)).toBe(text);
    },
  );

  test.each(eventCatalog)(
    'the example of $detailType has exactly the fields of its definition',
    ({ detail, example }) => {
      expect(detail.strict().safeParse(example).error).toBeUndefined();
    },
  );

  test('the README gives the price of a month as docs/cost.md does', () => {
    const total = /^\| \*\*total\*\* \|(.*)\|$/m.exec(read('docs/cost.md'))?.[1] ?? '';
    const price = /^\| AWS, a month \|(.*)\|$/m.exec(read('README.md'))?.[1] ?? '';
    const dollars = (row: string) =>
      [...row.matchAll(/\$?([\d.]+)/g)].map((match) => Math.round(Number(match[1])));

    expect(dollars(price)).toHaveLength(4);
    expect(dollars(price)).toEqual(dollars(total));
  });

  test('package, lock file, OpenAPI, README and changelog name one version, whose sections fit on a screen', () => {
    const { version } = JSON.parse(read('package.json')) as { readonly version: string };
    const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': object } };
    const [, section = ''] = read('CHANGELOG.md').split(/^## .*\n/m);

    expect([lock.version, lock.packages[''], API_VERSION]).toEqual([
      version,
      expect.objectContaining({ version }),
      version,
    ]);
    expect(read('README.md')).toContain(`Version ${version}`);
    expect(() => refuseClosedVersion(version, read('CHANGELOG.md'))).not.toThrow();
    expect(() => refuseClosedVersion(version, `## ${version} - 2026-12-01\n`)).toThrow(/is released already/);
    const long = section.split(/^### /m).filter((part) => part.trim().split('\n').length > 45);
    expect(long.map((part) => part.split('\n')[0])).toEqual([]);
  });

  test('gives a reason for every dependency in one line', () => {
    const lines = read('docs/dependencies.md').split('\n');
    const names = Object.keys({ ...manifest['dependencies'], ...manifest['devDependencies'] });

    expect(names.filter((name) => !lines.some((line) => line.startsWith(`- \`${name}\`: `)))).toEqual([]);
  });

  test('names every call, dial, option and control route on the page on the simulated service', () => {
    const page = read('docs/upstream.md');
    const source = read('infra/simulator/routes/control-routes.ts');
    const controls = [...source.matchAll(/'(\/_control\/[^']+)'/g)].map((match) => match[1] ?? '');
    const paths = controls.map((path) => path.replaceAll(/:(\w+)/g, '{$1}'));
    const options = declareServeOptions(new Command()).options.map(({ long }) => long ?? '');
    const named = [...Object.keys(calls), ...Object.keys(createFaultDials()), ...paths];

    expect(named.filter((name) => !page.includes(name))).toEqual([]);
    expect(options.length).toBeGreaterThan(8);
  });

  test('each verdict of docs/security.md that something holds names a test, and every test that it names exists', () => {
    const rows = read('docs/security.md')
      .split('\n')
      .map((line) => /^\| (.+?) \| (met|partly|open|yes|no) \|.*\| (.*?) ?\|$/.exec(line))
      .filter((row) => row !== null)
      .map(([, item = '', verdict = '', tests = '']) => ({
        item,
        holds: ['met', 'partly', 'yes'].includes(verdict),
        tests: [...tests.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path),
      }));

    expect(rows.length).toBeGreaterThan(70);
    expect(rows.filter(({ holds, tests }) => holds && tests.length === 0).map(({ item }) => item)).toEqual(
      [],
    );
    expect(rows.flatMap(({ tests }) => tests).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('names every metric in the runbook', () => {
    const page = read('docs/operations.md');

    expect(Object.keys(metricUnits).filter((name) => !page.includes(`- \`${name}\`: `))).toEqual([]);
  });

  test('names every setting of bridge.config.ts on a page or in the example', () => {
    const named = [
      ...settingNames(z.toJSONSchema(bridgeConfigSchema, { io: 'input', unrepresentable: 'any' })),
    ];
    const text = [...PAGES, 'bridge.config.example.ts'].map(read).join('\n');

    expect(new Set(named).size).toBeGreaterThan(100);
    expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  test('commands in the pages on deployment run in a clone as they are printed', () => {
    const pages = [
      ...PAGES.filter((page) => page.startsWith(join('docs', 'deploy'))),
      join('docs', 'operations.md'),
    ];
    const bare = pages.flatMap((page) =>
      [...read(page).matchAll(/^ *operations-bridge \w.*$|`operations-bridge \w+ [^`]*`/gm)].map(
        ([text]) => `${page}: ${text}`,
      ),
    );

    expect(bare).toEqual([]);
  });

  test('every npm script that a page names exists', () => {
    const pages = PAGES.map(read).join('\n');
    const named = [...pages.matchAll(/npm run ([a-z:-]+)/g)].map((match) => match[1] ?? '');

    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !(name in (manifest['scripts'] ?? {})))).toEqual([]);
  });

  test('every subject of a script that a page names exists', () => {
    const named = PAGES.flatMap((page) => [
      ...read(page).matchAll(/npm run (bench|cost|crash-test|simulate) -- ([a-z][a-z-]*)/g),
    ]);
    const families = Object.keys(programs);

    expect(
      families.filter((family) => manifest['scripts']?.[family] !== `node test/programs.ts ${family}`),
    ).toEqual([]);
    expect(named.length).toBeGreaterThan(5);
    expect(
      named
        .filter(([, family = '', subject = '']) => !Object.hasOwn(programs[family] ?? {}, subject))
        .map(([text]) => text),
    ).toEqual([]);
  });

  test('every file and folder that a page links to exists', () => {
    const linksOf = (page: string) =>
      [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '');
    const broken = PAGES.flatMap((page) =>
      linksOf(page)
        .filter((link) => !existsSync(join(ROOT, page, '..', link)))
        .map((link) => `${page}: ${link}`),
    );

    expect(PAGES.flatMap(linksOf).length).toBeGreaterThan(100);
    expect(broken).toEqual([]);
  });

  test('every heading that a page links to exists', () => {
    const anchorsOf = (page: string) =>
      [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^a-z0-9 _-]/g, '')
          .replaceAll(' ', '-'),
      );
    const broken = PAGES.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g)]
        .map(([, file, anchor = '']) => ({
          target: file === undefined ? page : join(page, '..', file),
          anchor,
        }))
        .filter(({ target, anchor }) => !anchorsOf(target).includes(anchor))
        .map(({ target, anchor }) => `${page}: ${target}#${anchor}`),
    );

    expect(broken).toEqual([]);
  });
});

/** Returns the names of all properties that a JSON Schema describes, at any depth. */
function settingNames(part: unknown): readonly string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => [
    ...(key === 'properties' ? Object.keys(value) : []),
    ...settingNames(value),
  ]);
}
