/**
 * A scenario of the command line: arguments and surroundings in; requests on the wire, output, exit code and waits out.
 *
 * A scenario runs in this process, by the same `runProgram` and `failureOf` that the process uses, with a clock that stands still while a
 * request is under way. What only the entry has (the streams, the signals, the exit code of the process) is the same few lines for all
 * subcommands; those scenarios that are marked run once more as a process of their own, with the time of the machine.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../../infra/cli/subcommands/program.ts';
import { EXIT_CODES, failureOf } from '../../../infra/process/command.ts';
import { type Asked, type Exchange, type ScriptedServer, startScriptedServer } from './scripted-server.ts';
import { createStandingClock } from './standing-clock.ts';

/** A text as it must be, or patterns that must all be found in it. */
type Text = string | RegExp | readonly RegExp[];

export interface Scenario {
  /** One sentence of behaviour. */
  readonly title: string;
  /** `{origin}` stands for the address of the scripted server here, and in each text of the scenario. */
  readonly args: readonly string[];
  /** What stands here is added to the address of the scripted bridge and its token; undefined takes one of them away. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  /** Files by their path below the home folder, which is empty otherwise. `{pid}` is the id of a process that lives. */
  readonly files?: Readonly<Record<string, string>>;
  /** What a person at a terminal answers to each question. Without it there is no terminal. */
  readonly confirms?: boolean;
  /** The program behind the pipe of the output has ended before the first line. It needs a process. */
  readonly readerHasGone?: true;
  readonly script: readonly Exchange[];
  /** Requests that leave side by side may come in any order. */
  readonly order?: 'in any order';
  readonly code: number;
  readonly output?: Text;
  /** The output as one JSON document, or with `lines` as a document a line. Only what is named here is compared. */
  readonly json?: unknown;
  readonly jsonLines?: readonly unknown[];
  /** The error output. */
  readonly notes?: Text;
  /** Files below the home folder after the run. `*` at the end of a name stands for what cannot be known before. */
  readonly leaves?: Readonly<Record<string, Text>>;
  /** At least and at most this many seconds go by, those of slow answers among them. It is none unless this says otherwise. */
  readonly waits?: readonly [number, number];
  /** The scenario runs as a process, too; or as nothing else, because it opens servers of its own. */
  readonly asProcess?: true | 'only';
}

const TOKEN = 'opb_of-the-scripted-bridge';
const STARTS_AT = '2026-01-16T21:00:00.000Z';

export const SIGNING_SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgc2NlbmFyaW8=';

/** Texts that must be in no output: each is a secret that some scenario hands to the command. */
const SECRETS = [TOKEN, 'napi_the-key-of-an-account', SIGNING_SECRET];

/** Registers a test for each scenario, and for each that is marked a second one as a process. */
export function describeScenarios(subject: string, scenarios: readonly Scenario[]): void {
  describe(subject, () => {
    const here = scenarios.filter(({ asProcess }) => asProcess !== 'only');
    test.each(here.map((scenario) => [scenario.title, scenario] as const))('%s', (_title, scenario) =>
      play(scenario, runHere),
    );
  });
  const processes = scenarios.filter(({ asProcess }) => asProcess !== undefined);
  if (processes.length === 0) return;
  describe.concurrent(`${subject}, as a process`, () => {
    test.each(processes.map((scenario) => [scenario.title, scenario] as const))(
      '%s',
      { timeout: 120_000 },
      (_title, scenario) => play(scenario, runAsProcess),
    );
  });
}

interface Run {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly input: string;
  readonly confirms: boolean | undefined;
  readonly readerHasGone: boolean;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly notes: string;
  /** It is undefined with the time of the machine. */
  readonly waitedSeconds?: number;
}

type Runner = (run: Run, server: ScriptedServer) => Promise<Ended>;

async function play(scenario: Scenario, run: Runner): Promise<void> {
  await using server = await startScriptedServer(scenario.script, scenario.order ?? 'in order');
  const home = mkdtempSync(join(tmpdir(), 'bridge-home-'));
  try {
    const place = (words: string) => words.replaceAll('{origin}', server.origin).replaceAll('{home}', home);
    for (const [name, content] of Object.entries(scenario.files ?? {})) {
      mkdirSync(dirname(join(home, name)), { recursive: true });
      writeFileSync(join(home, name), place(content).replaceAll('{pid}', String(process.pid)), {
        mode: 0o600,
      });
    }
    const bridge = { OPERATIONS_BRIDGE_URL: server.origin, OPERATIONS_BRIDGE_TOKEN: TOKEN };
    const variables = Object.entries({ ...bridge, ...scenario.environment, HOME: home });
    const ended = await run(
      {
        args: scenario.args.map(place),
        environment: Object.fromEntries(
          variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, place(value)]])),
        ),
        input: scenario.input ?? '',
        confirms: scenario.confirms,
        readerHasGone: scenario.readerHasGone === true,
      },
      server,
    );
    judge(scenario, ended, server, place);
    for (const [name, content] of Object.entries(scenario.leaves ?? {}))
      expectText(name, readFileSync(fileNamed(join(home, name)), 'utf8'), content, place);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function fileNamed(path: string): string {
  if (!path.endsWith('*')) return path;
  const found = readdirSync(dirname(path)).find((name) => name.startsWith(basename(path).slice(0, -1)));
  return join(dirname(path), found ?? basename(path));
}

async function runHere({ args, environment, input, confirms }: Run, server: ScriptedServer): Promise<Ended> {
  using clock = createStandingClock(Date.parse(STARTS_AT), server.origin);
  const stop = new AbortController();
  const [output, notes]: [string[], string[]] = [[], []];
  let code: number = EXIT_CODES.succeeded;
  server.begin({
    leaveOpen: () => clock.leaveOpen(),
    sleep: (ms) => clock.sleep(ms),
    pressCtrlC: () => stop.abort(new Error('stopped by the user')),
    onUnscripted: () => stop.abort(new Error('the script has no such request')),
  });
  const startMs = clock.now();
  // The clients of AWS take their settings from the process itself.
  const before = { ...process.env };
  for (const [name, value] of Object.entries(environment))
    if (name.startsWith('AWS_')) process.env[name] = value;
  try {
    await runProgram(args, {
      environment,
      signal: stop.signal,
      clock,
      print: (line) => void output.push(line),
      note: (line) => void notes.push(line),
      isColoured: false,
      readInput: async () => input,
      ...(confirms !== undefined && { confirm: async () => confirms }),
      exitWith: (chosen) => {
        code = chosen;
      },
    });
  } catch (error) {
    const { sentence, exitCode } = failureOf(error);
    notes.push(sentence);
    code = exitCode;
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  }
  const waitedSeconds = (clock.now() - startMs) / 1_000;
  stop.abort(new Error('the run is over'));
  return { code, output: output.join('\n'), notes: notes.join('\n'), waitedSeconds };
}

/** A process that does not end by itself is killed. Nothing else depends on this time. */
const PROCESS_MS_MAX = 60_000;

async function runAsProcess(
  { args, environment, input, readerHasGone }: Run,
  server: ScriptedServer,
): Promise<Ended> {
  const child = spawn(process.execPath, ['infra/cli/operations-bridge.ts', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: PROCESS_MS_MAX,
    killSignal: 'SIGKILL',
  });
  server.begin({
    leaveOpen: () => () => {},
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    pressCtrlC: () => void child.kill('SIGINT'),
    onUnscripted: () => void child.kill('SIGKILL'),
  });
  const written = { output: '', notes: '' };
  child.stdout.setEncoding('utf8').on('data', (part: string) => (written.output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (written.notes += part));
  if (readerHasGone) child.stdout.destroy();
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: written.output.replace(/\n$/, ''), notes: written.notes.replace(/\n$/, '') };
}

function judge(
  scenario: Scenario,
  ended: Ended,
  server: ScriptedServer,
  place: (words: string) => string,
): void {
  const { script, order, code, output, json, jsonLines, notes, waits = [0, 0] } = scenario;
  const said = `\nexit code ${ended.code}\n--- output\n${ended.output}\n--- notes\n${ended.notes}\n`;
  const wanted = script.map(({ request }) => request);
  const requests = server.asked.map(({ request }) => request);
  if (order === undefined) expect(requests, said).toEqual(wanted);
  else expect(requests.toSorted(), said).toEqual(wanted.toSorted());
  for (const [index, exchange] of server.played.entries()) judgeRequest(server.asked[index], exchange);
  judgeManners(scenario, ended, server.asked);
  expect(ended.code, said).toBe(code);
  if (output !== undefined) expectText('the output', ended.output, output, place);
  if (json !== undefined) expect({ json: JSON.parse(ended.output) as unknown }, said).toMatchObject({ json });
  if (jsonLines !== undefined)
    expect(
      ended.output === '' ? [] : ended.output.split('\n').map((line) => JSON.parse(line) as unknown),
    ).toEqual(jsonLines.map((line) => expect.objectContaining(line as object)));
  if (notes !== undefined) expectText('the notes', ended.notes, notes, place);
  if (ended.waitedSeconds === undefined) return;
  expect(ended.waitedSeconds, said).toBeGreaterThanOrEqual(waits[0]);
  expect(ended.waitedSeconds, said).toBeLessThanOrEqual(waits[1]);
}

function judgeRequest(asked: Asked | undefined, { request, headers = {}, body }: Exchange): void {
  for (const [name, wanted] of Object.entries(headers)) {
    const found = asked?.headers[name];
    const what = `${request}: the header ${name}`;
    if (wanted === null) expect(found, what).toBeUndefined();
    else if (typeof wanted === 'string') expect(found, what).toBe(wanted);
    else expect(found, what).toMatch(wanted);
  }
  if (body !== undefined) expect(JSON.parse(asked?.body ?? ''), request).toEqual(body);
}

/** What holds for every subcommand. */
function judgeManners({ args }: Scenario, { output, notes }: Ended, asked: readonly Asked[]): void {
  for (const secret of SECRETS) expect(`${output}\n${notes}`).not.toContain(secret);
  if (args.includes('--json'))
    for (const line of output === '' ? [] : output.split('\n'))
      expect(() => JSON.parse(line) as unknown, `--json printed: ${line}`).not.toThrow();
  const ofBridge = asked.filter(({ request }) => /^[A-Z]+ \/(bridge\/v1|api\/v2)\//.test(request));
  for (const { request, headers } of ofBridge) expect(headers.authorization, request).toMatch(/^Bearer \S+$/);
  for (const { headers, body } of asked.filter(({ request }) => request === 'POST /hook')) {
    const [id, time] = [headers['webhook-id'], headers['webhook-timestamp']].map(String);
    const signature = new Webhook(SIGNING_SECRET).sign(id ?? '', new Date(Number(time) * 1_000), body);
    expect(headers['webhook-signature']).toBe(signature);
  }
  const keys = asked.flatMap(({ headers }) => headers['idempotency-key'] ?? []);
  expect(new Set(keys).size, 'one invocation has one key').toBeLessThanOrEqual(1);
}

function expectText(what: string, found: string, wanted: Text, place: (words: string) => string): void {
  const patterns = typeof wanted === 'string' ? [] : [wanted].flat();
  if (typeof wanted === 'string') expect(found, what).toBe(place(wanted));
  for (const pattern of patterns as readonly RegExp[]) expect(found, what).toMatch(pattern);
}
