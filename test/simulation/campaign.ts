/** Runs many seeds one after the other in one thread, and merges what several threads found. */

import type { Rejection } from '../model/accept.ts';
import type { Violation } from './check-history.ts';
import { faultKinds } from './options.ts';
import { simulate } from './simulate.ts';
import { wideFaultKinds } from './wide/faults.ts';
import { simulateWide } from './wide/simulate-wide.ts';

/**
 * `close` puts the protocol under as many faults as possible; `wide` simulates everything around it, over days and
 * weeks.
 */
export const WORLDS = ['close', 'wide'] as const;

export type World = (typeof WORLDS)[number];

export interface Share {
  readonly from: number;
  readonly count: number;
  readonly stopAtFirst: boolean;
  readonly worlds: readonly World[];
}

export interface ShareResult {
  readonly seedCount: number;
  readonly eventCount: number;
  /** Counts how often each kind of fault fired. The name of a kind begins with `close` or `wide`. */
  readonly fired: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly seed: number; readonly violations: readonly string[] }[];
  /** The protocol's model does not allow what these runs did. */
  readonly rejected: readonly { readonly seed: number; readonly rejections: readonly string[] }[];
}

interface Outcome {
  readonly violations: readonly Violation[];
  readonly rejections: readonly Rejection[];
  readonly fired: ReadonlyMap<string, number>;
  readonly eventCount: number;
}

const RUNS: Readonly<Record<World, (seed: number) => Promise<Outcome>>> = {
  close: async (seed) => {
    const result = await simulate(seed);
    return { ...result, eventCount: result.delivered.length };
  },
  wide: (seed) => simulateWide(seed),
};

const KINDS: Readonly<Record<World, readonly string[]>> = { close: faultKinds, wide: wideFaultKinds };

/** The first few violations are enough to see what broke. */
const VIOLATIONS_SHOWN_MAX = 5;

export async function runShare({ from, count, stopAtFirst, worlds }: Share): Promise<ShareResult> {
  const fired: Record<string, number> = {};
  for (const world of worlds) for (const kind of KINDS[world]) fired[`${world} ${kind}`] = 0;
  const failures: { seed: number; violations: readonly string[] }[] = [];
  const rejected: { seed: number; rejections: readonly string[] }[] = [];
  let eventCount = 0;
  let seedCount = 0;
  for (let seed = from; seed < from + count; seed++) {
    seedCount += 1;
    const broken: string[] = [];
    const refused: string[] = [];
    for (const world of worldsOf(seed, worlds)) {
      const outcome = await RUNS[world](seed);
      eventCount += outcome.eventCount;
      for (const [kind, times] of outcome.fired) {
        const name = `${world} ${kind}`;
        fired[name] = (fired[name] ?? 0) + times;
      }
      broken.push(...outcome.violations.slice(0, VIOLATIONS_SHOWN_MAX).map((each) => describe(world, each)));
      const { rejections } = outcome;
      refused.push(
        ...rejections.slice(0, VIOLATIONS_SHOWN_MAX).map((each) => describeRejection(world, each)),
      );
    }
    if (refused.length > 0) rejected.push({ seed, rejections: refused });
    if (broken.length > 0) failures.push({ seed, violations: broken });
    if (broken.length > 0 && stopAtFirst) break;
  }
  return { seedCount, eventCount, fired, failures, rejected };
}

/** A wide run takes three times as long as a close one, so a campaign of both runs it only for every second seed. */
function worldsOf(seed: number, worlds: readonly World[]): readonly World[] {
  return worlds.length > 1 && seed % 2 === 1 ? worlds.filter((world) => world !== 'wide') : worlds;
}

function describe(world: World, { rule, operation_id, detail }: Violation): string {
  return `${world}: ${rule}: ${operation_id} ${detail}`;
}

export function describeRejection(world: World, { rule, detail, step }: Rejection): string {
  return `${world}: step ${step} is rejected: ${rule}: ${detail}`;
}

export function merge(a: ShareResult, b: ShareResult): ShareResult {
  const fired: Record<string, number> = { ...a.fired };
  for (const [kind, times] of Object.entries(b.fired)) fired[kind] = (fired[kind] ?? 0) + times;
  return {
    seedCount: a.seedCount + b.seedCount,
    eventCount: a.eventCount + b.eventCount,
    fired,
    failures: [...a.failures, ...b.failures],
    rejected: [...a.rejected, ...b.rejected],
  };
}

/** Lists the faults that never fired: a campaign without them shows nothing about them. */
export function silentKinds({ fired }: ShareResult, worlds: readonly World[]): readonly string[] {
  return worlds.flatMap((world) =>
    KINDS[world].map((kind) => `${world} ${kind}`).filter((name) => (fired[name] ?? 0) === 0),
  );
}
