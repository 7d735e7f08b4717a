/**
 * Lets `listen` forward the events of a bridge on this machine, kills it at given moments, takes the receiving server
 * away for a while, and compares what was received with what the bridge has put on its bus.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { readEventLines } from '../event-lines.ts';
import { type BridgeCommand, startBridgeCommand } from './bridge-command.ts';
import { type HookServer, startHookServer } from './hook-server.ts';

export interface ListenRun {
  readonly upstreamBaseUrl: string;
  readonly apiKey: string;
  /** An empty folder for the state of the bridge and of `listen`. */
  readonly folder: string;
  readonly durationMs: number;
  /** Milliseconds after the first event at which `listen` is killed and started again, in rising order. */
  readonly killsMs: readonly number[];
  /** From when until when the receiving server is away, in milliseconds after the first event. */
  readonly awayMs: readonly [number, number];
  readonly drainMsMax: number;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

export interface ListenFindings {
  /** Events that the bridge had put on its bus at the end. */
  readonly publishedCount: number;
  /** Requests with an event that the server had accepted before. */
  readonly copyCount: number;
  /** Ids of events that never arrived. */
  readonly missing: readonly string[];
  /** Signatures that were not valid, and the like. */
  readonly faults: readonly string[];
  readonly listenExitCode: number | null;
}

export async function listenThroughKills(run: ListenRun): Promise<ListenFindings> {
  const { folder, upstreamBaseUrl, apiKey, killsMs, durationMs, drainMsMax } = run;
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const hook = await startHookServer(secret);
  const home = { HOME: folder };
  const dataDir = join(folder, 'data');
  const bridge = startBridgeCommand(['start', '--upstream', upstreamBaseUrl, '--data', dataDir], {
    ...home,
    UPSTREAM_API_KEY: apiKey,
  });
  const startListen = (...args: readonly string[]) =>
    startBridgeCommand(['listen', '--forward', hook.url, ...args], {
      ...home,
      OPERATIONS_BRIDGE_SIGNING_SECRET: secret,
    });
  let listener: BridgeCommand = startListen('--since', 'beginning');
  const published = () => new Set(readEventLines(join(dataDir, 'events.jsonl')).events.map(idOf));
  try {
    await received(hook, run);
    const [awayFrom, awayUntil] = run.awayMs;
    await atMoments(run, [
      ...killsMs.map((atMs) => ({
        atMs,
        what: 'listen is killed',
        async act() {
          await listener.kill();
          listener = startListen();
        },
      })),
      { atMs: awayFrom, what: 'the server is away', act: () => hook.leave() },
      { atMs: awayUntil, what: 'the server is back', act: () => hook.comeBack() },
      { atMs: durationMs, what: 'the comparison begins', act: async () => {} },
    ]);
    const owed = [...published()];
    const missing = () => owed.filter((id) => !new Set(hook.receivedIds).has(id));
    const untilMs = Date.now() + drainMsMax;
    while (Date.now() < untilMs && missing().length > 0) await systemClock.sleep(500, run.signal);
    const listenExitCode = await listener.stop();
    return {
      publishedCount: owed.length,
      copyCount: hook.receivedIds.length - new Set(hook.receivedIds).size,
      missing: missing(),
      faults: hook.faults,
      listenExitCode,
    };
  } finally {
    await Promise.all([bridge.kill(), listener.kill(), hook.leave()]);
  }
}

/** The first event shows that everything runs; the moments count from then on. */
async function received({ receivedIds }: HookServer, { drainMsMax, signal }: ListenRun): Promise<void> {
  const untilMs = Date.now() + drainMsMax;
  while (receivedIds.length === 0 && Date.now() < untilMs) await systemClock.sleep(100, signal);
}

interface Moment {
  readonly atMs: number;
  readonly what: string;
  readonly act: () => Promise<void>;
}

async function atMoments({ signal, print }: ListenRun, moments: readonly Moment[]): Promise<void> {
  const startedMs = Date.now();
  for (const { atMs, what, act } of moments.toSorted((one, other) => one.atMs - other.atMs)) {
    await systemClock.sleep(Math.max(0, startedMs + atMs - Date.now()), signal);
    await act();
    print(`${(atMs / 1_000).toFixed(0)} s: ${what}`);
  }
}

function idOf({ detail }: { readonly detail: Readonly<Record<string, unknown>> }): string {
  return String(detail['id']);
}
