import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, onTestFinished, test } from 'vitest';
import { createProgram } from '../../infra/cli/subcommands/program.ts';
import { failureOf } from '../../infra/process/command.ts';
import { processSurroundings } from '../../infra/process/surroundings.ts';
import { ROOT } from '../../infra/release/project.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const program = createProgram(processSurroundings(new AbortController().signal, () => {}));
const all = program.commands.flatMap((command): readonly Command[] => [command, ...command.commands]);

test.each(all.map((command) => [command.name(), command] as const))(
  '%s has a help with an example and its exit codes',
  async (_name, command) => {
    const path = command.parent?.parent ? [command.parent.name(), command.name()] : [command.name()];
    const { code, output } = await runSubcommand([...path, '--help']);

    expect(code).toBe(0);
    expect(output).toMatch(new RegExp(`Examples:\\n {2}\\$ (\\w+=\\S+ )?operations-bridge ${path[0]}`));
    expect(output).toMatch(/Exit codes:\n {2}0 /);
  },
);

test('every subcommand has --json', () => {
  const asking = all.filter((command) => command.commands.length === 0);
  const lacking = asking.filter(({ options }) => !options.some(({ long }) => long === '--json'));

  expect(asking.length).toBeGreaterThan(12);
  expect(lacking.map((command) => command.name())).toEqual([]);
});

test('no subcommand takes a token or a key as an option; options named secret take its name', () => {
  const named = all.flatMap(({ options }) =>
    options.map(({ long, required }) => ({ long: long ?? '', required })),
  );
  const secret = named.filter(
    ({ long, required }) => required && /token|secret$|password|access-key/.test(long),
  );

  expect(secret.map(({ long }) => long).toSorted()).toEqual(
    [
      '--secret',
      '--secret',
      '--secret',
      '--secret',
      '--webhook-secret',
      '--key-secret',
      '--slack-secret',
      '--pepper-secret',
      '--pepper-secret',
      '--pepper-secret',
      '--pepper-secret',
      '--pepper-secret',
    ].toSorted(),
  );
});

/** Each of these takes something else in one subcommand. */
const OF_TWO_KINDS = ['--projects', '--data', '--to', '--trouble'];

test('a flag takes the same in every subcommand', () => {
  const flags = Map.groupBy(
    all.flatMap(({ options }) => options),
    ({ long }) => long ?? '',
  );
  const differing = [...flags].filter(([, options]) => new Set(options.map((each) => each.flags)).size > 1);

  expect(flags.size).toBeGreaterThan(80);
  expect(differing.map(([long]) => long).toSorted()).toEqual(OF_TWO_KINDS.toSorted());
  for (const name of ['--from', '--out', '--duration', '--file']) expect(flags.has(name), name).toBe(false);
});

test.each([
  [['listen'], ['--project', '--status', '--action', '--type']],
  [['audit'], ['--client', '--call', '--project', '--outcome']],
  [
    ['incidents', 'list'],
    ['--project', '--action'],
  ],
  [
    ['mutes', 'add'],
    ['--project', '--action', '--incident'],
  ],
  [['replay'], ['--project', '--type', '--status', '--action', '--id']],
  [['subscribe'], ['--project', '--account', '--action', '--status']],
])('the filters of %s can be given several times', async (path, filters) => {
  const { output } = await runSubcommand([...path, '--help']);
  const listed = output.replaceAll(/\n {10,}/g, ' ').split('\n');

  for (const filter of filters) {
    const line = listed.find((each) => each.trim().startsWith(`${filter} <`));
    expect(line, filter).toMatch(/only \w+ .*; repeatable$/);
  }
});

test('a value that is given twice is refused, where it cannot count with the first', async () => {
  const twice = runSubcommand(['wait', 'operation', 'an-id', '--project', 'a-1', '--project', 'b-2']);

  await expect(twice).rejects.toThrow('--project is given twice, and takes one value.');
});

test('bash completes every subcommand and every flag', async () => {
  const { output: script } = await runSubcommand(['completion', 'bash']);
  const paths = all.map((command) =>
    command.parent?.parent ? [command.parent.name(), command.name()] : [command.name()],
  );
  const asks = paths.map(
    (path) =>
      `COMP_WORDS=(operations-bridge ${path.join(' ')} ""); COMP_CWORD=${path.length + 1}; _operations_bridge; echo "\${COMPREPLY[*]}"`,
  );
  const answers = execFileSync('bash', ['-c', [script, ...asks].join('\n')], { encoding: 'utf8' });

  const words = all.map(({ commands, options }) =>
    [...commands.map((child) => child.name()), ...options.map(({ long }) => long)].join(' '),
  );
  expect(answers.trimEnd().split('\n')).toEqual(words);
  const { json } = await runSubcommand(['completion', 'fish', '--json']);
  expect(json()).toMatchObject({ 'mutes add': expect.arrayContaining(['--all', '--project']) });
});

test.runIf(existsSync('/dev/full'))('an output that cannot be written is one sentence', () => {
  using files = { out: openSync('/dev/full', 'w'), [Symbol.dispose]: () => closeSync(files.out) };
  const { status, stderr } = spawnSync(process.execPath, ['infra/cli/operations-bridge.ts', '--help'], {
    stdio: ['ignore', files.out, 'pipe'],
    encoding: 'utf8',
  });

  expect([status, stderr]).toEqual([1, 'The output cannot be written (ENOSPC: no space left on device).\n']);
});

test('a full disk is one sentence, wherever a library throws it', () => {
  const error = new Error('IO error: tables/000003.log: No space left on device');

  expect(failureOf(error)).toEqual({
    sentence: expect.stringMatching(/^The disk is full \(IO error: .*\)\. Free some space, and start again/),
    exitCode: 1,
  });
});

test('Ctrl-C ends a subcommand soon, although the server that it asks never answers', {
  timeout: 60_000,
}, async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const stop = new AbortController();
  const { port } = server.address() as AddressInfo;
  const listing = runSubcommand(['tokens', 'list', '--endpoint', `http://127.0.0.1:${port}`], {
    environment: { AWS_ACCESS_KEY_ID: 'k' },
    signal: stop.signal,
  });
  await once(server, 'request');
  stop.abort(new Error('stopped by the user'));

  expect(await listing).toMatchObject({ code: 130, output: '' });
});

test('arguments that do not exist are refused with a suggestion', async () => {
  await expect(runSubcommand(['lisen'])).rejects.toThrow("Unknown command 'lisen' (Did you mean listen?)");
  await expect(runSubcommand(['audit', '--sinse', '1h'])).rejects.toThrow(
    /Unknown option '--sinse' \(Did you mean --since/,
  );
});

test('a group of subcommands alone is refused with the names of its subcommands', async () => {
  const groups = program.commands.filter(({ commands }) => commands.length > 0);

  expect(groups.map((group) => group.name())).toEqual(expect.arrayContaining(['tokens', 'freeze', 'mutes']));
  for (const group of groups)
    await expect(runSubcommand([group.name()])).rejects.toThrow(
      `"${group.name()}" takes one of the subcommands ${group.commands.map((each) => each.name()).join(', ')}`,
    );
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

  expect(await runSubcommand(['--version'])).toMatchObject({ code: 0, output: version });
});
