/** Runs the simulated service alone, for any client. */

import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { withDeadline } from '../process/deadline.ts';
import { scaledClock } from '../process/scaled-clock.ts';
import type { ServeOptions } from './serve-options.ts';
import { type LocalUpstream, startUpstream } from './start-upstream.ts';
import type { GroundTruthOperation } from './world/state/ground-truth.ts';

const REPORT_EVERY_MS = 60_000;

const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

/** Runs the service until the signal aborts or its time is over. */
export async function serveUpstream(
  options: ServeOptions,
  { signal, print }: { readonly signal: AbortSignal; readonly print: (line: string) => void },
): Promise<void> {
  const deadline = withDeadline(signal, options.forMs, systemClock);
  const startedMs = systemClock.now();
  const clock = scaledClock(options.speed, startedMs);
  await using upstream = await startUpstream({ ...options, apiKeys: [options.apiKey], clock });
  for (const line of headerLines(options, upstream)) print(line);
  await report(upstream, { clock, deadline, print });
  print(summaryLine(upstream, { clock, startedMs }));
}

function headerLines(
  { seed, projectCount, speed, apiKey }: ServeOptions,
  { baseUrl }: LocalUpstream,
): string[] {
  return [
    `Simulated service, seed ${seed}, ${projectCount} projects, speed ${speed}; Ctrl-C ends it`,
    `  base URL  ${baseUrl}`,
    `  key       ${apiKey}`,
    `  try       KEY=${apiKey}`,
    `            curl -H "authorization: Bearer $KEY" ${baseUrl}/projects`,
    `  control   ${new URL(baseUrl).origin}/_control  (docs/upstream.md)`,
  ];
}

async function report(
  upstream: LocalUpstream,
  {
    clock,
    deadline,
    print,
  }: { readonly clock: Clock; readonly deadline: AbortSignal; readonly print: (line: string) => void },
): Promise<void> {
  while (!deadline.aborted) {
    await systemClock.sleep(REPORT_EVERY_MS, deadline).catch(() => {});
    if (deadline.aborted) return;
    const time = new Date(clock.now()).toISOString().slice(11, 19);
    print(`${time}  ${countsOf(upstream.world().groundTruth())}`);
  }
}

function summaryLine(
  upstream: LocalUpstream,
  { clock, startedMs }: { readonly clock: Clock; readonly startedMs: number },
): string {
  const truth = upstream.world().groundTruth();
  const newCount = truth.filter(({ created_at_ms }) => created_at_ms >= startedMs).length;
  const minutes = ((clock.now() - startedMs) / 60_000).toFixed(1);
  return `Stopped after ${minutes} simulated minutes: ${newCount} new operations; in all ${countsOf(truth)}`;
}

function countsOf(truth: readonly GroundTruthOperation[]): string {
  const openCount = truth.filter(({ states }) => !TERMINAL.has(states.at(-1)?.status ?? '')).length;
  return `${truth.length} operations, ${openCount} open`;
}
