/** Runs the simulated service alone, for any client. */

import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { scaledClock, withDeadline } from '../process/surroundings.ts';
import type { ServeOptions } from './serve-options.ts';
import { type LocalUpstream, startUpstream } from './start-upstream.ts';
import type { GroundTruthOperation } from './world/project-state.ts';

const REPORT_EVERY_MS = 60_000;

const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

interface ServeSurroundings {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  /** A program reads what is printed: each line is a JSON object. */
  readonly isJson?: boolean;
}

/** Runs the service until the signal aborts or its time is over. */
export async function serveUpstream(options: ServeOptions, surroundings: ServeSurroundings): Promise<void> {
  const { signal, print, isJson = false } = surroundings;
  const deadline = withDeadline(signal, options.forMs, systemClock);
  const startedMs = systemClock.now();
  const clock = scaledClock(options.speed, startedMs);
  await using upstream = await startUpstream({ ...options, apiKeys: [options.apiKey], clock });
  if (isJson) print(JSON.stringify(readyFact(options, upstream)));
  else for (const line of headerLines(options, upstream)) print(line);
  await report(upstream, { clock, deadline, print, isJson });
  if (isJson) print(JSON.stringify({ kind: 'end', ...countsOf(upstream) }));
  else print(summaryLine(upstream, { clock, startedMs }));
}

function readyFact({ apiKey }: ServeOptions, { baseUrl }: LocalUpstream): object {
  return { kind: 'ready', base_url: baseUrl, key: apiKey, control_url: controlUrlOf(baseUrl) };
}

function controlUrlOf(baseUrl: string): string {
  return `${new URL(baseUrl).origin}/_control`;
}

function headerLines(
  { seed, projectCount, speed, apiKey }: ServeOptions,
  { baseUrl }: LocalUpstream,
): string[] {
  return [
    `Simulated service, seed ${seed}, ${counted(projectCount, 'project')}, speed ${speed}; Ctrl-C ends it`,
    `  base URL  ${baseUrl}`,
    `  key       ${apiKey}`,
    `  try       KEY=${apiKey}`,
    `            curl -H "authorization: Bearer $KEY" ${baseUrl}/projects`,
    `  control   ${controlUrlOf(baseUrl)}  (docs/upstream.md)`,
  ];
}

interface Reporting {
  readonly clock: Clock;
  readonly deadline: AbortSignal;
  readonly print: (line: string) => void;
  readonly isJson: boolean;
}

async function report(upstream: LocalUpstream, reporting: Reporting): Promise<void> {
  const { clock, deadline, print, isJson } = reporting;
  while (!deadline.aborted) {
    await systemClock.sleep(REPORT_EVERY_MS, deadline).catch(() => {});
    if (deadline.aborted) return;
    const at = new Date(clock.now()).toISOString();
    const counts = countsOf(upstream);
    if (isJson) print(JSON.stringify({ kind: 'state', at, ...counts }));
    else print(`${at.slice(11, 19)}  ${inWords(counts)}`);
  }
}

function summaryLine(
  upstream: LocalUpstream,
  { clock, startedMs }: { readonly clock: Clock; readonly startedMs: number },
): string {
  const truth = upstream.world().groundTruth();
  const newCount = truth.filter(({ created_at_ms }) => created_at_ms >= startedMs).length;
  const minutes = ((clock.now() - startedMs) / 60_000).toFixed(1);
  return `Stopped after ${minutes} simulated minutes: ${newCount} new operations; in all ${inWords(countsOf(upstream))}`;
}

interface Counts {
  readonly operation_count: number;
  readonly open_count: number;
}

function countsOf(upstream: LocalUpstream): Counts {
  const truth = upstream.world().groundTruth();
  const isOpen = ({ states }: GroundTruthOperation) => !TERMINAL.has(states.at(-1)?.status ?? '');
  return { operation_count: truth.length, open_count: truth.filter(isOpen).length };
}

function inWords({ operation_count, open_count }: Counts): string {
  return `${operation_count} operations, ${open_count} open`;
}
