import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseServeOptions } from './serve-options.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COMMAND = join(ROOT, 'infra/cli/operations-bridge.ts');

/** Collects what the command prints until it ends. Once it has printed `until`, it is interrupted. */
async function run(args: readonly string[], until?: RegExp) {
  const child = spawn(process.execPath, [COMMAND, 'upstream', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
    if (until?.test(stdout) && !child.killed) child.kill('SIGINT');
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

describe('operations-bridge upstream', () => {
  test('prints its URL and its key, and ends on Ctrl-C with a summary and exit code 0', async () => {
    const { code, stdout, stderr } = await run(['--projects', '3', '--api-key', 'my-key'], /curl .*\n/);

    expect(stdout).toMatch(/base URL {2}http:\/\/127\.0\.0\.1:\d+\/api\/v2\n/);
    expect(stdout).toContain('KEY=my-key');
    expect(stdout).toContain('authorization: Bearer $KEY');
    expect(stdout).toMatch(/Stopped after .* simulated minutes: \d+ new operations/);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  test.each([
    [['--nope'], /^Unknown option '--nope'\n$/],
    [['--port', 'eighty'], /^--port is "eighty"; it takes a whole number from 0 to 65535\.\n$/],
    [['--for', '60'], /^--for is "60"; it takes a duration such as 90s, 5m or 2h\.\n$/],
  ])('refuses %j with one sentence and exit code 2', async (args, sentence) => {
    const { code, stderr, stdout } = await run(args);

    expect(stderr).toMatch(sentence);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  test('names a port that is in use, and ends with exit code 2', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await run(['--port', String(port)]);
    other.close();

    expect(stderr).toBe(
      `Port ${port} is in use by another program; choose another one with --port, or leave it out.\n`,
    );
    expect(code).toBe(2);
  });
});

describe('its options', () => {
  test('set fault dials from the start', () => {
    const options = parseServeOptions([
      '--dial',
      'unavailable=0.2',
      '--dial',
      'latencyMs=50',
      '--stuck',
      '0.1',
    ]);

    expect(options).toMatchObject({ dials: { unavailable: 0.2, latencyMs: 50 }, stuckChance: 0.1 });
  });

  test.each([
    ['--dial', 'unavailable=2'],
    ['--dial', 'unavailable'],
    ['--dial', 'nonsense=1'],
    ['--stuck', 'often'],
  ])('refuse %s %s and name it', (name, value) => {
    expect(() => parseServeOptions([name, value])).toThrow(value.split('=')[0] ?? value);
  });

  test('have defaults, and a key that is derived from the seed', () => {
    expect(parseServeOptions(['--seed', '5'])).toEqual({
      port: 0,
      hosts: [],
      apiKey: 'simulated-key-5',
      dials: {},
      sessionsPerHour: 20,
      plan: 'scale',
      tieChance: 0,
      stuckChance: 0,
      trouble: 1,
      seed: 5,
      projectCount: 25,
      speed: 1,
      forMs: undefined,
    });
  });

  test('name further hosts, and refuse what is no name of a host', () => {
    expect(parseServeOptions(['--host', 'Neon', '--host', 'a.test']).hosts).toEqual(['neon', 'a.test']);
    expect(() => parseServeOptions(['--host', 'http://a'])).toThrow('takes the name of a host');
  });

  test('accept a duration', () => {
    expect(parseServeOptions(['--for', '2h'])?.forMs).toBe(7_200_000);
  });

  test.each([
    [['--api-key', ''], /--api-key takes/],
    [['--api-key', 'a b'], /--api-key takes/],
    [['--plan', 'large'], /--plan is "large"; it takes free or scale\./],
    [['--projects', '0'], /--projects is "0"/],
    [['--speed', '0.5'], /--speed is "0.5"/],
    [['extra'], /too many arguments/],
  ])('refuse %j', (args, message) => {
    expect(() => parseServeOptions(args)).toThrow(message);
  });
});
