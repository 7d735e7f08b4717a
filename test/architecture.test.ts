import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

interface Import {
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
  /** Path from the root for our own files, the package's name otherwise. */
  readonly target: string;
}

const sourceFiles = ['functions', 'infra', 'shared', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name)),
);
const imports = sourceFiles.flatMap(importsOf);

function importsOf(file: string): readonly Import[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const pattern = /(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g;
  return [...text.matchAll(pattern)].map((match) => {
    const specifier = match[1] ?? '';
    const isOurs = specifier.startsWith('.');
    const target = isOurs ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier;
    return { file, line: text.slice(0, match.index).split('\n').length, specifier, target };
  });
}

/** The offending lines, so that a failure says where to look. */
function offences(isForbidden: (found: Import) => boolean): readonly string[] {
  return imports
    .filter(isForbidden)
    .map(({ file, line, specifier }) => `${file}:${line} imports ${specifier}`);
}

const isIn = (path: string, ...folders: readonly string[]) =>
  folders.some((folder) => path.startsWith(`${folder}/`));
const isOurs = ({ target }: Import) => isIn(target, 'functions', 'infra', 'shared', 'test');

describe('imports run one way', () => {
  test('the reader of imports finds them', () => {
    expect(imports.length).toBeGreaterThan(200);
    expect(imports.filter(isOurs).length).toBeGreaterThan(100);
  });

  test('shared imports neither functions nor infra nor test', () => {
    expect(
      offences(({ file, target }) => isIn(file, 'shared') && isIn(target, 'functions', 'infra', 'test')),
    ).toEqual([]);
  });

  test('functions import only themselves and shared, and no other function', () => {
    const functionOf = (path: string) => path.split('/')[1];

    expect(offences(({ file, target }) => isIn(file, 'functions') && isIn(target, 'infra', 'test'))).toEqual(
      [],
    );
    expect(
      offences(
        ({ file, target }) =>
          isIn(file, 'functions') && isIn(target, 'functions') && functionOf(file) !== functionOf(target),
      ),
    ).toEqual([]);
  });

  test('nothing outside of it imports infra/aws, and nothing but tests imports test', () => {
    expect(
      offences(({ file, target }) => isIn(target, 'infra/aws') && !isIn(file, 'infra/aws', 'test')),
    ).toEqual([]);
    expect(offences(({ file, target }) => isIn(target, 'test') && !isIn(file, 'test'))).toEqual([]);
  });
});

describe('the core is pure', () => {
  const coreFiles = sourceFiles.filter((file) => isIn(file, 'shared/core'));
  /** A hash is a function of its input. */
  const allowedPackages: ReadonlySet<string> = new Set(['node:crypto']);

  test('it imports nothing but itself', () => {
    const isForeign = ({ target }: Import) => !isIn(target, 'shared/core') && !allowedPackages.has(target);

    expect(offences((found) => isIn(found.file, 'shared/core') && isForeign(found))).toEqual([]);
  });

  test.each([
    ['a clock', /Date\.now|new Date\(\)|performance\./],
    ['randomness', /Math\.random|randomUUID|randomBytes/],
    ['waiting', /\basync\b|\bawait\b|Promise|setTimeout/],
    ['the process', /process\.|console\./],
  ])('it has no %s', (_what, pattern) => {
    const found = coreFiles.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8')));

    expect(coreFiles.length).toBeGreaterThan(8);
    expect(found).toEqual([]);
  });
});

describe('I/O lives at the edges', () => {
  /** Adapters and entries: the only files of the product that know the SDK. */
  const adapters: ReadonlySet<string> = new Set([
    'shared/store/dynamodb-counters.ts',
    'shared/store/dynamodb-table.ts',
    'shared/store/table-definition.ts',
    'shared/events/event-bus.ts',
    'shared/runtime/secret-key-source.ts',
    'functions/poller/create-handler.ts',
    'functions/notifier/create-handler.ts',
    'functions/notifier/channels/sns-publisher.ts',
    'functions/api/create-handler.ts',
    'shared/store/dynamodb-indexes.ts',
  ]);

  test('only adapters import the AWS SDK', () => {
    const isForbidden = ({ file, target }: Import) =>
      isIn(file, 'shared', 'functions') && target.startsWith('@aws-sdk/') && !adapters.has(file);

    expect(offences(isForbidden)).toEqual([]);
  });

  test('only entries read the environment of the process', () => {
    const readers = sourceFiles.filter((file) =>
      readFileSync(join(ROOT, file), 'utf8').includes('process.env'),
    );
    const product = readers.filter(
      (file) => isIn(file, 'shared', 'functions') && !file.endsWith('/handler.ts'),
    );

    expect(product).toEqual([]);
  });

  test('there are no barrels and no drawers for everything', () => {
    const drawers = sourceFiles.filter((file) =>
      /(^|\/)(index|utils?|helpers?|common|types|misc)(\.ts|\/)/.test(file),
    );

    expect(drawers).toEqual([]);
  });
});
