import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DeliveredEvent } from '../../infra/local/aws/event-bridge/deliveries.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { compareWithTruth, owedCount } from '../end-to-end/truth.ts';
import { aFolder } from './a-folder.ts';
import { runBridgeCommand, runProgram } from './child-process.ts';

const KEY = 'start-canary-key';

/** This limit ends a test that hangs; a test that passes does not wait for it. */
const ALL_ARRIVES_MS_MAX = 540_000;

async function aBusyUpstream() {
  const upstream = await startUpstream({
    seed: 5,
    projectCount: 20,
    apiKeys: [KEY],
    sessionsPerHour: 600,
    historyMs: 60_000,
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

function eventsIn(folder: string): readonly DeliveredEvent[] {
  const lines = readFileSync(join(folder, 'events.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as DeliveredEvent);
}

describe('npm start', { timeout: 600_000 }, () => {
  test('prints the addresses, the events as they happen, and a summary', async () => {
    const eventLine = /\d\d:\d\d:\d\d {2}[a-z]+-[a-z]+-\d+ +[a-z_]+ +\w+ -> \w+ +\+\d+\.\d s/;
    const command = runBridgeCommand(['start', '--speed', '20', '--projects', '10', '--seed', '7']);

    for (const line of [/\d+ of \d+ projects read/, eventLine, / -> finished/]) await command.until(line);
    command.child.kill('SIGINT');

    expect(await command.ended()).toBe(0);
    expect(command.output()).toMatch(
      /upstream +http:\/\/127\.0\.0\.1:\d+\/api\/v2 +simulated, seed 7, 10 projects/,
    );
    expect(command.output()).toMatch(/local AWS +http:\/\/127\.0\.0\.1:\d+/);
    expect(command.output()).toMatch(/\n\d+ events of \d+ projects?: .*\d+ finished/);
    expect(command.output()).toMatch(/[1-9]\d* requests, [1-9]\d* a minute, 0 of them throttled/);
    expect(command.errors()).toBe('');
  });

  test('counts also the requests of an invocation that was cut short', async () => {
    const command = runBridgeCommand(['start', '--projects', '3']);
    await command.until(/projects read/);
    command.child.kill('SIGINT');

    expect(await command.ended()).toBe(0);
    expect(command.output()).toMatch(/[1-9]\d* requests, [1-9]\d* a minute/);
  });

  test('loses no event when it is killed with SIGKILL, and publishes none again under a new id', async () => {
    const upstream = await aBusyUpstream();
    const folder = aFolder();
    const args = ['--upstream', upstream.baseUrl, '--data', folder];
    const env = { UPSTREAM_API_KEY: KEY };
    const bootMs = Date.now();
    const first = runBridgeCommand(['start', ...args], env);
    await first.until(/20 of 20 projects read/);
    const readyMs = Date.now();
    first.child.kill('SIGKILL');
    expect(await first.ended()).toBe('SIGKILL');
    for (let kill = 1; kill <= 3; kill++) {
      const command = runBridgeCommand(['start', ...args], env);
      await command.until(/ -> finished[\s\S]* -> finished[\s\S]* -> finished/);
      command.child.kill('SIGKILL');
      expect(await command.ended()).toBe('SIGKILL');
    }
    const last = runBridgeCommand(['start', ...args], env);
    await last.until(/20 of 20 projects read/);
    const settledMs = Date.now();
    const truth = () => upstream.world().groundTruth();
    const missing = () => compareWithTruth(truth(), eventsIn(folder), { bootMs, readyMs, settledMs });
    // A busy machine needs longer. A lost event never arrives, and then the test fails by its time-out with the list.
    await expect.poll(missing, { timeout: ALL_ARRIVES_MS_MAX, interval: 500 }).toEqual([]);
    last.child.kill('SIGINT');
    expect(await last.ended()).toBe(0);

    expect(owedCount(truth(), { bootMs, readyMs, settledMs })).toBeGreaterThan(3);
    expect(readFileSync(join(folder, 'events.jsonl'), 'utf8')).not.toContain(KEY);
    expect(readFileSync(join(folder, 'poller.log'), 'utf8')).not.toContain(KEY);
  });

  test('prints nothing but lines of JSON with --json: the addresses, each event, and the figures at the end', async () => {
    const command = runBridgeCommand(['start', '--json', '--projects', '10', '--speed', '20', '--seed', '7']);
    await command.until(/"kind":"event"/);
    command.child.kill('SIGINT');

    expect(await command.ended()).toBe(0);
    const facts = command
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly kind: string } & Readonly<Record<string, unknown>>);
    const kinds = new Set(facts.map(({ kind }) => kind));
    expect([...kinds].filter((kind) => !['ready', 'event', 'note', 'end'].includes(kind))).toEqual([]);
    expect(facts.find(({ kind }) => kind === 'ready')).toMatchObject({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^opb_/),
    });
    expect(facts.find(({ kind }) => kind === 'event')?.['event']).toMatchObject({
      source: 'operations-bridge',
    });
    expect(facts.at(-1)).toMatchObject({ kind: 'end', throttled_count: 0 });
  });

  test('ends on Ctrl-C with a summary and exit code 0', async () => {
    const command = runBridgeCommand(['start', '--projects', '3']);
    await command.until(/3 of 3 projects read|of \d+ projects read/);

    command.child.kill('SIGINT');

    expect(await command.ended()).toBe(0);
    expect(command.output()).toMatch(/\d+ events of \d+ projects?/);
  });

  test('continues in the same simulated world when it is restarted with --data', async () => {
    const args = ['--data', aFolder(), '--projects', '3', '--speed', '10', '--for', '5s'];
    const first = runBridgeCommand(['start', ...args]);
    expect(await first.ended()).toBe(0);
    const second = runBridgeCommand(['start', ...args]);

    expect(await second.ended()).toBe(0);
    expect(second.errors()).toBe('');
    expect(second.output()).not.toMatch(/Watch Ended/);
  });
});

describe('npm start refuses with one sentence and exit code 2:', { timeout: 120_000 }, () => {
  const cases: readonly (readonly [string, readonly string[], Record<string, string>, RegExp])[] = [
    [
      'an option that does not exist',
      ['--sped', '3'],
      {},
      /^Unknown option '--sped' \(Did you mean one of --seed, --speed\?\)\n$/,
    ],
    ['a speed that is not a number', ['--speed', 'fast'], {}, /^--speed is "fast"; it takes a number from 1/],
    ['a duration without a unit', ['--for', '60'], {}, /^--for is "60"; it takes a duration such as 90s/],
    ['no project at all', ['--projects', '0'], {}, /^--projects is "0"; it takes a whole number from 1/],
    ['an unknown backfill', ['--backfill', 'some'], {}, /^--backfill is "some"; it takes open, all or none/],
    [
      'a real upstream without a key',
      ['--upstream', 'http://127.0.0.1:1/api/v2'],
      {},
      /^UPSTREAM_API_KEY is not set/,
    ],
    [
      'an upstream that is not a URL',
      ['--upstream', 'nowhere'],
      { UPSTREAM_API_KEY: KEY },
      /^--upstream is "nowhere"/,
    ],
    [
      'options of the simulated service with a real one',
      ['--upstream', 'http://127.0.0.1:1/api/v2', '--seed', '3'],
      { UPSTREAM_API_KEY: KEY },
      /^--seed belongs to the simulated service/,
    ],
    [
      'an upstream that does not answer',
      ['--upstream', 'http://127.0.0.1:9/api/v2'],
      { UPSTREAM_API_KEY: KEY },
      /^The upstream at http:\/\/127\.0\.0\.1:9\/api\/v2 cannot be used \(.*the connection failed\)/,
    ],
    [
      'a data folder that is a file',
      ['--data', 'package.json'],
      {},
      /^--data is "package.json", which cannot be made a folder/,
    ],
  ];

  test.each(cases)('%s', async (_what, args, env, sentence) => {
    const command = runBridgeCommand(['start', ...args], env);

    expect(await command.ended()).toBe(2);
    expect(command.errors()).toMatch(sentence);
    expect(command.errors().trim().split('\n')).toHaveLength(1);
    expect(command.errors()).not.toContain(KEY);
  });

  test('a key that the upstream refuses', async () => {
    const upstream = await aBusyUpstream();
    const command = runBridgeCommand(['start', '--upstream', upstream.baseUrl], {
      UPSTREAM_API_KEY: 'wrong',
    });

    expect(await command.ended()).toBe(2);
    expect(command.errors()).toMatch(/answered 401: supplied credentials.*check UPSTREAM_API_KEY/);
  });

  test('an address without the path of the API, whatever the server there thinks of the key', async () => {
    const { baseUrl } = await aBusyUpstream();
    const { origin } = new URL(baseUrl);
    for (const [key, status] of [
      [KEY, 404],
      ['wrong', 401],
    ] as const) {
      const command = runBridgeCommand(['start', '--upstream', `${origin}/`], { UPSTREAM_API_KEY: key });

      expect(await command.ended()).toBe(2);
      expect(command.errors()).toMatch(
        new RegExp(
          `answered ${status}: .*\\); check the address first: its path is /, and .* ${origin}/api/v2\\.\n`,
        ),
      );
    }
  });

  test.each(['port', 'api-port'])('a --%s that is in use', async (option) => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const command = runBridgeCommand(['start', `--${option}`, String(port)]);

    expect(await command.ended()).toBe(2);
    expect(command.errors()).toBe(
      `Port ${port} is in use by another program; choose another one with --${option}, or leave it out.\n`,
    );
  });

  test('a data folder that another run uses or that belongs to another world', async () => {
    const folder = aFolder();
    const first = runBridgeCommand(['start', '--data', folder, '--projects', '2']);
    await first.until(/projects read/);
    const second = runBridgeCommand(['start', '--data', folder, '--projects', '2']);
    expect(await second.ended()).toBe(2);
    expect(second.errors()).toMatch(/^The folder of --data is in use by another bridge \(process \d+\)/);
    first.child.kill('SIGINT');
    expect(await first.ended()).toBe(0);
    const third = runBridgeCommand(['start', '--data', folder, '--projects', '2', '--seed', '9']);
    expect(await third.ended()).toBe(2);
    expect(third.errors()).toMatch(
      /^The folder of --data belongs to another run \(simulated, seed 1, 2 projects/,
    );
  });
});

describe('npm start refuses with one sentence and exit code 2 a data folder', { timeout: 120_000 }, () => {
  const isLinux = process.platform === 'linux';

  test.each([
    ['below a file', join('package.json', 'folder'), /^--data is ".*", which cannot be made a folder \(/],
    // In /proc, Node's own recursive mkdir never returns.
    ...(isLinux
      ? ([
          [
            'that cannot be created',
            '/proc/nowhere/folder',
            /^--data is ".*", which cannot be made a folder \(/,
          ],
          [
            'that is read-only, also for root',
            '/proc',
            /^The folder of --data, \/proc, cannot be used \(.*make it/,
          ],
        ] as const)
      : []),
  ] as const)('%s', async (_what, folder, sentence) => {
    await expectRefusal(['--data', folder], sentence);
  });

  test.each([
    ['with an empty bridge.json', 'bridge.json', '', /bridge\.json is empty/],
    ['with a bridge.json that is cut short', 'bridge.json', '{"upst', /bridge\.json is cut short or damaged/],
    ['with an empty pepper', 'token-pepper', '', /token-pepper is empty/],
  ])('%s', async (_what, name, content, sentence) => {
    const folder = aFolder();
    writeFileSync(join(folder, name), content);
    await expectRefusal(['--data', folder], sentence);
  });

  test('whose tables cannot be opened', async () => {
    const folder = aFolder();
    mkdirSync(join(folder, 'tables', 'LOCK'), { recursive: true });
    await expectRefusal(['--data', folder], /^The tables in .* cannot be opened \(.*choose another one\.$/m);
  });

  /** Waits for the exit without a time limit: a command that hangs fails by the time-out of the test. */
  async function expectRefusal(args: readonly string[], sentence: RegExp): Promise<void> {
    const command = runBridgeCommand(['start', ...args]);

    expect(await command.ended()).toBe(2);
    expect(command.errors()).toMatch(sentence);
    expect(command.errors().trim().split('\n')).toHaveLength(1);
    expect(command.output()).toBe('');
  }
});

describe('npm start ends in an orderly way', { timeout: 150_000 }, () => {
  test('when the reader of its output closes the pipe, without a stack trace', async () => {
    const command = runBridgeCommand(['start', '--projects', '3', '--speed', '50']);
    await command.until(/token +opb_/);
    command.child.stdout.destroy();

    expect(await command.ended()).toBe(0);
    expect(command.errors()).toBe('');
  });

  test.skipIf(process.platform === 'win32')('when npm receives SIGTERM', async () => {
    const folder = aFolder();
    const npm = runProgram('npm', ['start', '--', '--projects', '3', '--data', folder], {
      PATH: process.env['PATH'] ?? '',
    });
    await npm.until(/token +opb_/);
    npm.child.kill('SIGTERM');
    // The pipes close when the last process that writes to them has ended, which is the bridge.
    await npm.ended();

    expect(npm.output()).toMatch(/\d+ events of \d+ projects?/);
    expect(npm.output()).toContain(`are in ${folder}`);
  });
});

describe('operations-bridge upstream', () => {
  test('serves any client with the key it prints, and ends on Ctrl-C', async () => {
    const command = runBridgeCommand(['upstream', '--seed', '3', '--api-key', KEY, '--projects', '2']);
    await command.until(/try /);
    const baseUrl = /base URL +(\S+)/.exec(command.output())?.[1] ?? '';
    const answer = await fetch(`${baseUrl}/projects`, { headers: { authorization: `Bearer ${KEY}` } });

    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ projects: [{ platform_id: 'aws' }, { pg_version: 17 }] });
    command.child.kill('SIGINT');
    expect(await command.ended()).toBe(0);
  });

  test('prints its addresses and its end as lines of JSON with --json', async () => {
    const command = runBridgeCommand([
      'upstream',
      '--json',
      '--projects',
      '2',
      '--api-key',
      KEY,
      '--for',
      '1s',
    ]);

    expect(await command.ended()).toBe(0);
    const [ready, end] = command
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(ready).toMatchObject({ kind: 'ready', key: KEY, base_url: expect.stringMatching(/\/api\/v2$/) });
    expect(end).toMatchObject({
      kind: 'end',
      operation_count: expect.any(Number),
      open_count: expect.any(Number),
    });
  });

  test('refuses a bad port with one sentence and exit code 2', async () => {
    const command = runBridgeCommand(['upstream', '--port', '70000']);

    expect(await command.ended()).toBe(2);
    expect(command.errors()).toBe('--port is "70000"; it takes a whole number from 0 to 65535.\n');
  });
});
