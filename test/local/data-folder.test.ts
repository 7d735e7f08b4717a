import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDataFolder } from '../../infra/local/data-folder.ts';
import type { StartOptions } from '../../infra/local/start-options.ts';
import { UsageError } from '../../infra/process/command.ts';
import { aFolder } from './a-folder.ts';
import { runBridgeCommand } from './child-process.ts';
import { parseStartOptions } from './start-options.ts';

/** Keeps virtual time, so waiting for a lock takes no real time. */
function fastClock() {
  let nowMs = Date.UTC(2026, 0, 15, 12);
  return {
    now: () => nowMs,
    async sleep(durationMs: number) {
      nowMs += durationMs;
    },
  };
}

function optionsFor(dataDir: string): StartOptions {
  return parseStartOptions(['--data', dataDir, '--projects', '2'], {});
}

async function open(dataDir: string, lines: string[] = []) {
  const surroundings = { clock: fastClock(), print: (line: string) => void lines.push(line) };
  const folder = await openDataFolder(optionsFor(dataDir), surroundings);
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder;
}

async function sentenceOf(opening: Promise<unknown>): Promise<string> {
  const error = await opening.then(
    () => new Error('The folder was opened'),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UsageError);
  return (error as UsageError).message;
}

/** Creates a folder that was opened once and released. */
async function aUsedFolder(): Promise<string> {
  const dataDir = aFolder();
  await (await open(dataDir))[Symbol.asyncDispose]();
  return dataDir;
}

describe('the lock of a data folder', () => {
  test.each([
    ['the id of another running process', String(process.ppid)],
    ['the id of the first process of the machine', '1'],
    ['nothing', ''],
    ['a text that is not a number', 'bridge'],
  ])('does not hold when bridge.pid holds %s', async (_what, content) => {
    const dataDir = await aUsedFolder();
    writeFileSync(join(dataDir, 'bridge.pid'), content);

    await open(dataDir);
    expect(readFileSync(join(dataDir, 'bridge.pid'), 'utf8')).toBe(String(process.pid));
  });

  test('holds as long as a bridge uses the folder, also when bridge.pid is gone or empty', async () => {
    const dataDir = aFolder();
    await open(dataDir);

    expect(await sentenceOf(open(dataDir))).toBe(
      `The folder of --data is in use by another bridge (process ${process.pid}): ${dataDir}. Stop it, or choose another folder.`,
    );
    writeFileSync(join(dataDir, 'bridge.pid'), '');
    expect(await sentenceOf(open(dataDir))).toMatch(/is in use by another bridge: /);
  });

  test('is free as soon as its holder is killed', {
    timeout: 120_000,
  }, async () => {
    const dataDir = aFolder();
    const command = runBridgeCommand(['start', '--data', dataDir, '--projects', '2']);
    await command.until(/token +opb_/);
    command.child.kill('SIGKILL');
    await command.ended();

    await open(dataDir);
  });

  test('is released when a file of the folder is damaged', async () => {
    const dataDir = await aUsedFolder();
    const identity = readFileSync(join(dataDir, 'bridge.json'), 'utf8');
    writeFileSync(join(dataDir, 'bridge.json'), '');
    await sentenceOf(open(dataDir));
    writeFileSync(join(dataDir, 'bridge.json'), identity);

    await open(dataDir);
  });
});

describe('a damaged data folder is refused with the fault, its file and advice:', () => {
  test.each([
    ['bridge.json', '', /bridge\.json is empty, .*delete that file .*or choose another folder\.$/],
    ['bridge.json', '{"upstream": "simula', /bridge\.json is cut short or damaged, .*delete that file/],
    ['bridge.json', '{"upstream":"x","speed":1}', /bridge\.json is cut short or damaged/],
    ['token-pepper', '', /token-pepper is empty, .*delete that file, and issue the tokens again\.$/],
    ['queue-key', '', /queue-key is empty, .*delete that file, and send again what ends as failed\.$/],
    ['token-pepper', 'abcdef', /token-pepper is not a whole pepper, .*delete that file/],
  ])('%s that holds %j', async (name, content, sentence) => {
    const dataDir = await aUsedFolder();
    writeFileSync(join(dataDir, name), content);

    const said = await sentenceOf(open(dataDir));
    expect(said).toMatch(sentence);
    expect(said).toContain(join(dataDir, name));
  });

  test('following the advice helps: without the damaged files the folder opens', async () => {
    const dataDir = await aUsedFolder();
    for (const name of ['bridge.json', 'token-pepper']) writeFileSync(join(dataDir, name), '');
    await sentenceOf(open(dataDir));

    for (const name of ['bridge.json', 'token-pepper']) rmSync(join(dataDir, name));

    await open(dataDir);
  });
});

test.runIf(process.platform === 'linux')(
  'an event that a full disk does not take is refused, and the fault is reported once',
  async () => {
    const dataDir = await aUsedFolder();

    rmSync(join(dataDir, 'events.jsonl'), { force: true });
    symlinkSync('/dev/full', join(dataDir, 'events.jsonl'));
    const lines: string[] = [];
    const folder = await open(dataDir, lines);
    const event = { detail: { id: 'one' } } as never;

    expect(() => folder.keepEvent(event)).toThrow(/ENOSPC/);
    expect(() => folder.keepEvent(event)).toThrow(/ENOSPC/);
    expect(lines).toEqual([
      `${join(dataDir, 'events.jsonl')} cannot be written (ENOSPC: no space left on device); events wait in the table and are published again until it can.`,
    ]);
  },
);

test.runIf(process.platform === 'linux')(
  'a log line that a full disk does not take is lost, and the fault is reported once',
  async () => {
    const dataDir = await aUsedFolder();

    rmSync(join(dataDir, 'poller.log'), { force: true });
    symlinkSync('/dev/full', join(dataDir, 'poller.log'));
    const lines: string[] = [];
    const folder = await open(dataDir, lines);
    folder.keepLogLine('{}');
    folder.keepLogLine('{}');

    expect(lines).toEqual([
      `${join(dataDir, 'poller.log')} cannot be written (ENOSPC: no space left on device); log lines are lost until it can.`,
    ]);
  },
);

test.each([
  ['', ', calm'],
  ['--trouble', ''],
  ['--trouble 0.5', ', trouble 0.5'],
])(
  'a run in a folder takes the options of the run before, %s among them, and refuses others',
  async (trouble, world) => {
    const folder = aFolder();
    const surroundings = { clock: fastClock(), print: () => {} };
    const options = `--projects 2 --seed 7 --speed 5 ${trouble}`.trim().split(' ');
    const first = parseStartOptions(['--data', folder, ...options], {});
    await (await openDataFolder(first, surroundings))[Symbol.asyncDispose]();

    expect(parseStartOptions(['--data', folder], {})).toEqual(first);
    const other = parseStartOptions(['--data', folder, '--seed', '9'], {});
    expect(await sentenceOf(openDataFolder(other, surroundings))).toBe(
      `The folder of --data belongs to another run (simulated, seed 7, 2 projects${world}, speed 5); choose another folder, or leave these options out.`,
    );
  },
);

test('a run in the folder of a real account takes its address, and the key from the environment', async () => {
  const folder = aFolder();
  const environment = { UPSTREAM_API_KEY: 'napi_of-a-test' };
  const real = ['--data', folder, '--upstream', 'https://upstream.example.com/api/v2'];
  const first = parseStartOptions(real, environment);
  await (await openDataFolder(first, { clock: fastClock(), print: () => {} }))[Symbol.asyncDispose]();

  expect(parseStartOptions(['--data', folder], environment)).toEqual(first);
  expect(() => parseStartOptions(['--data', folder], {})).toThrow(/^UPSTREAM_API_KEY is not set/);
});
