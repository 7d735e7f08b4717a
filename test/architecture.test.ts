import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');

interface Import {
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
  /** The target is a path from the root for our own files, or the name of a package. */
  readonly target: string;
}

const sourceFiles = ['functions', 'infra', 'shared', 'test'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name)),
);
const imports = sourceFiles.flatMap(importsOf);
const targetsOf = Map.groupBy(imports, ({ file }) => file);

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

/** Lists the offending lines, so that a failure shows where to look. */
function offences(isForbidden: (found: Import) => boolean): readonly string[] {
  return imports
    .filter(isForbidden)
    .map(({ file, line, specifier }) => `${file}:${line} imports ${specifier}`);
}

/** Finds each circle once, as a path that ends where it began. */
function circles(graph: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const finished = new Set<string>();
  const found: string[] = [];
  const visit = (node: string, path: readonly string[]) => {
    const start = path.indexOf(node);
    if (start >= 0) {
      found.push([...path.slice(start), node].join(' -> '));
      return;
    }
    if (finished.has(node)) return;
    for (const next of graph[node] ?? []) visit(next, [...path, node]);
    finished.add(node);
  };
  for (const node of Object.keys(graph)) visit(node, []);
  return found;
}

/** Collects the files and everything that they import, directly or through others. */
function reachedFrom(files: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    waiting.push(...(targetsOf.get(file) ?? []).map(({ target }) => target));
  }
  return reached;
}

const isIn = (path: string, ...folders: readonly string[]) =>
  folders.some((folder) => path.startsWith(`${folder}/`));
const isOurs = ({ target }: Import) => isIn(target, 'functions', 'infra', 'shared', 'test');

describe('the layers', () => {
  test('are seen: the scan of imports finds more than two hundred', () => {
    expect(imports.length).toBeGreaterThan(200);
  });

  test('lets imports run only from infra to functions to shared', () => {
    const forbidden: Readonly<Record<string, readonly string[]>> = {
      shared: ['functions', 'infra', 'test'],
      functions: ['infra', 'test'],
      infra: ['test'],
    };
    const runsBack = ({ file, target }: Import) =>
      isIn(target, ...(forbidden[file.split('/')[0] ?? ''] ?? []));

    expect(offences(runsBack)).toEqual([]);
    expect(
      offences(({ file, target }) => isIn(target, 'infra/aws') && !isIn(file, 'infra/aws', 'test')),
    ).toEqual([]);
  });

  test('lets no function import another function', () => {
    const functionOf = (path: string) => path.split('/')[1];
    const isNeighbour = ({ file, target }: Import) =>
      isIn(file, 'functions') && isIn(target, 'functions') && functionOf(file) !== functionOf(target);

    expect(offences(isNeighbour)).toEqual([]);
  });
});

describe('circles of imports', () => {
  test('do not exist between files', () => {
    const graph = Object.fromEntries(
      sourceFiles.map((file) => [
        file,
        (targetsOf.get(file) ?? []).filter(isOurs).map(({ target }) => target),
      ]),
    );

    expect(circles(graph)).toEqual([]);
  });

  test('are found by the search when they exist', () => {
    expect(circles({ a: ['b'], b: ['c'], c: ['b'] })).toEqual(['b -> c -> b']);
  });
});

describe('a file of shared', () => {
  /** Each of these folders counts as one user of every file that it imports, directly or through others. */
  const USERS: readonly string[] = [
    'functions/api',
    'functions/commands',
    'functions/notifier',
    'functions/poller',
    'infra/aws',
    'infra/cli',
    'infra/local',
    'infra/simulator',
  ];
  /** The API alone uses these today; the worker that sends queued commands is their second user. */
  const ALREADY_SHARED: readonly string[] = ['shared/commands', 'shared/callers', 'shared/upstream'];

  test('has at least two users; otherwise it lives with its only user', () => {
    const reached = USERS.map((user) => reachedFrom(sourceFiles.filter((file) => isIn(file, user))));
    const lonely = sourceFiles.filter(
      (file) =>
        isIn(file, 'shared') &&
        !isIn(file, ...ALREADY_SHARED) &&
        reached.filter((files) => files.has(file)).length < 2,
    );

    expect(lonely).toEqual([]);
  });
});

describe('the pure rooms', () => {
  /** Decisions are made here. */
  const PURE_ROOMS = [
    'shared/records',
    'shared/rates',
    'functions/poller/planner',
    'functions/poller/project/walk.ts',
  ];
  const isPure = (path: string) => PURE_ROOMS.some((room) => path === room || isIn(path, room));
  const pureFiles = sourceFiles.filter(isPure);
  /** A hash and a schema depend on nothing but their input, so pure rooms may use them. */
  const allowedPackages: ReadonlySet<string> = new Set(['node:crypto', 'zod']);

  test('have files, each of them', () => {
    const areThere = (room: string) => pureFiles.some((path) => path === room || isIn(path, room));

    expect(PURE_ROOMS.filter((room) => !areThere(room))).toEqual([]);
  });

  test('import only each other and packages that compute', () => {
    const isForeign = ({ target }: Import) => !isPure(target) && !allowedPackages.has(target);

    expect(offences((found) => pureFiles.includes(found.file) && isForeign(found))).toEqual([]);
  });

  test.each([
    ['the clock', /Date\.now|new Date\(\)|performance\./],
    ['randomness', /Math\.random|randomUUID|randomBytes/],
    ['waiting', /\basync\b|\bawait\b|Promise|setTimeout/],
    ['the process', /process\.|console\./],
  ])('do not use %s', (_what, pattern) => {
    const found = pureFiles.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8')));

    expect(found).toEqual([]);
  });
});

describe('input and output at the edges', () => {
  /** Adapters and entries are the only files of the product that use the SDK. */
  const adapters: ReadonlySet<string> = new Set([
    'shared/store/dynamodb-table.ts',
    'shared/events/event-bus.ts',
    'shared/runtime/secret-key-source.ts',
    'functions/poller/create-handler.ts',
    'functions/poller/create-self-test.ts',
    'functions/notifier/create-self-test.ts',
    'functions/api/create-self-test.ts',
    'functions/commands/create-self-test.ts',
    'functions/notifier/create-handler.ts',
    'functions/notifier/channels/email.ts',
    'functions/api/create-handler.ts',
    'functions/api/command-ports.ts',
    'functions/api/read-model/bus-reader.ts',
    'functions/commands/create-handler.ts',
    'functions/commands/invocation.ts',
    'functions/commands/waiting-tasks.ts',
    'shared/commands/wakes.ts',
  ]);

  test('only adapters import the AWS SDK', () => {
    const isForbidden = ({ file, target }: Import) =>
      isIn(file, 'shared', 'functions') && target.startsWith('@aws-sdk/') && !adapters.has(file);

    expect(offences(isForbidden)).toEqual([]);
  });

  test('only handler files read the environment of the process', () => {
    const readers = sourceFiles.filter((file) =>
      readFileSync(join(ROOT, file), 'utf8').includes('process.env'),
    );
    const product = readers.filter(
      (file) => isIn(file, 'shared', 'functions') && !file.endsWith('/handler.ts'),
    );

    expect(product).toEqual([]);
  });

  test('no file or folder has a name without a subject, such as index, utils or helpers', () => {
    const drawers = sourceFiles.filter((file) =>
      /(^|\/)(index|utils?|helpers?|common|types|misc)(\.ts|\/)/.test(file),
    );

    expect(drawers).toEqual([]);
  });
});

describe('tests that share a process', () => {
  test('neither replace a client of AWS nor change the environment', () => {
    const leaves =
      /^import .*'aws-sdk-client-mock'|\bvi\.mock\(|Object\.assign\(process\.env|delete process\.env/m;
    const shared = sourceFiles.filter((file) => /^test\/(.*\/)?[^/.]+\.test\.ts$/.test(file));

    expect(shared.length).toBeGreaterThan(200);
    expect(shared.filter((file) => leaves.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
  });
});
