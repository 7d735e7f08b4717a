/**
 * `npm run crash-test -- --minutes 10 --kills 15` runs a simulated upstream and a bridge, each in its own process. It
 * kills the bridge (SIGKILL) at random moments and restarts it at once. Afterwards it compares the upstream's truth
 * with the events.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../infra/process/command.ts';
import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { compareWithTruth, owedCount } from '../end-to-end/truth.ts';
import { type BridgeProcess, startBridgeProcess } from './bridge-process.ts';
import { readEventLines } from './event-lines.ts';
import { latenessOf } from './lateness.ts';
import type { FromUpstream, UpstreamSettings } from './messages.ts';
import { CRASH_TEST_HELP, type CrashTestOptions, killMoments, parseCrashTestOptions } from './options.ts';
import { type Findings, verdictOf } from './verdict.ts';

const API_KEY = 'crash-test-key';

/** At this rate every kill meets some work in progress. */
const SESSIONS_PER_HOUR = 60;
const HISTORY_MS = 10 * 60_000;

/**
 * These repeat `ROUNDS_MAX` and `WAIT_MS_MIN` of the planner, because the test must not change with
 * the code.
 */
const ROUNDS_MAX = 4;
const LATENESS_MS_MIN = 60_000;

/**
 * The poller may spend this part of an account's rate limit, in requests a minute, when commands use all of the rest.
 */
const REQUESTS_PER_MINUTE = 350;

const DRAIN_CHECK_MS = 1_000;

/** An event that has not arrived after five times the promised delay counts as lost. */
const DRAIN_TIMES = 5;

await runCommand(async (signal) => {
  const options = parseCrashTestOptions(process.argv.slice(2));
  if (options === undefined) return console.log(CRASH_TEST_HELP);
  const { seed, projects, kills, minutes, keep } = options;
  const dataDir = mkdtempSync(join(tmpdir(), 'crash-test-'));
  console.log(
    `seed ${seed}: ${projects} projects, ${kills} kills in ${minutes} minutes, state in ${dataDir}`,
  );
  try {
    await using upstream = await openUpstreamProcess(options);
    const verdict = verdictOf(await crashAndCompare({ options, dataDir, upstream, signal }));
    for (const line of verdict.lines) console.log(line);
    if (!verdict.isKept) throw new AppError('promise_broken', 'The bridge did not keep its promise.');
  } finally {
    if (!keep) rmSync(dataDir, { recursive: true, force: true });
  }
});

interface CrashTest {
  readonly options: CrashTestOptions;
  readonly dataDir: string;
  readonly upstream: UpstreamProcess;
  readonly signal: AbortSignal;
}

async function crashAndCompare(test: CrashTest): Promise<Findings> {
  const { options, dataDir, upstream, signal } = test;
  const bootMs = Date.now();
  const bridge = startBridgeProcess({ baseUrl: upstream.baseUrl, apiKey: API_KEY, dataDir });
  try {
    await killAtMoments(bridge, options, signal);
    const settledMs = Date.now();
    const eventFile = join(dataDir, 'events.jsonl');
    const compare = (truth: readonly GroundTruthOperation[]) =>
      compareWithTruth(truth, readEventLines(eventFile).events, {
        bootMs,
        readyMs: bridge.readyMs(),
        settledMs,
      });
    // A lost event never arrives; a late one is counted as late.
    const drainedByMs = settledMs + DRAIN_TIMES * latenessMsMax(options);
    while (Date.now() < drainedByMs && compare(await upstream.truth()).length > 0)
      await systemClock.sleep(DRAIN_CHECK_MS, signal);
    const exitCode = await bridge.stop();
    const truth = await upstream.truth();
    const lines = readEventLines(eventFile);
    const { outages, errors, unexpectedEnds } = bridge;
    return {
      kills: options.kills,
      owedCount: owedCount(truth, { bootMs, readyMs: bridge.readyMs(), settledMs }),
      lines,
      violations: compare(truth),
      lateness: latenessOf(truth, lines.events, outages),
      latenessMsMax: latenessMsMax(options),
      outages,
      unexpectedEnds: exitCode === 0 ? unexpectedEnds : [...unexpectedEnds, exitCode],
      errors,
    };
  } finally {
    await bridge.stop();
  }
}

async function killAtMoments(
  bridge: BridgeProcess,
  options: CrashTestOptions,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = Date.now();
  const sleepUntil = (atMs: number) => systemClock.sleep(Math.max(0, startedMs + atMs - Date.now()), signal);
  for (const atMs of killMoments(options)) {
    await sleepUntil(atMs);
    await bridge.killAndRestart();
    console.log(`killed after ${(atMs / 1_000).toFixed(1)} s`);
  }
  await sleepUntil(options.minutes * 60_000);
}

function latenessMsMax({ projects }: CrashTestOptions): number {
  return Math.max(LATENESS_MS_MIN, (ROUNDS_MAX * projects * 60_000) / REQUESTS_PER_MINUTE);
}

interface UpstreamProcess extends AsyncDisposable {
  readonly baseUrl: string;
  truth(): Promise<readonly GroundTruthOperation[]>;
}

async function openUpstreamProcess({ seed, projects }: CrashTestOptions): Promise<UpstreamProcess> {
  const settings: UpstreamSettings = {
    seed,
    projectCount: projects,
    apiKey: API_KEY,
    sessionsPerHour: SESSIONS_PER_HOUR,
    historyMs: HISTORY_MS,
  };
  const child = fork(new URL('./upstream-process.ts', import.meta.url), [JSON.stringify(settings)]);
  const ready = await nextMessage(child, 'ready');
  return {
    baseUrl: ready.baseUrl,
    async truth() {
      const answer = nextMessage(child, 'truth');
      child.send('truth');
      return (await answer).truth;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

/** Rejects when the process ends before it sends a message. */
function nextMessage<Kind extends FromUpstream['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<FromUpstream, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('The upstream of the crash test has ended.'));
    child.once('exit', onExit);
    child.once('message', (message: FromUpstream) => {
      child.off('exit', onExit);
      if (message.kind === kind) resolve(message as Extract<FromUpstream, { kind: Kind }>);
      else reject(new Error(`The upstream of the crash test answered "${message.kind}" to "${kind}".`));
    });
  });
}
