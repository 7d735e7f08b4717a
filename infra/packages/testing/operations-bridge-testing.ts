/**
 * The simulated upstream for tests of other projects, exported as `operations-bridge/testing`. Its options are checked, because not
 * every test is written in TypeScript.
 */

import * as z from 'zod';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { dialsSchema } from '../../simulator/faults.ts';
import { PASS_MS_MAX } from '../../simulator/routes/control-routes.ts';
import { type LocalUpstream, startUpstream as startServer } from '../../simulator/start-upstream.ts';
import { SESSIONS_PER_HOUR } from '../../simulator/world/world.ts';
import type { SimulatedUpstream, SimulatedUpstreamOptions, UpstreamFaults } from './simulated-upstream.ts';

export type {
  SimulatedUpstream,
  SimulatedUpstreamOptions,
  TrueOperation,
  TrueState,
  UpstreamFaults,
} from './simulated-upstream.ts';

/**
 * Starts the simulated service on a free port of this machine's loopback interface. Equal options give an equal
 * world: with `startAt` and `speed: 0`, every run gives the same answers to the same requests. Throws `TypeError` for
 * options that do not exist or are out of range.
 */
export async function startUpstream({
  faults = {},
  ...options
}: SimulatedUpstreamOptions = {}): Promise<SimulatedUpstream> {
  const { projects, startAt = new Date(), speed, apiKey, ...world } = checkOptions(options);
  const startAtMs = startAt.getTime();
  const server = await startServer({
    ...world,
    projectCount: projects,
    startAtMs,
    apiKeys: [apiKey],
    dials: checkFaults(faults),
    clock: clockOfTest(startAtMs, speed),
  });
  return facadeOf(server, apiKey);
}

function facadeOf(server: LocalUpstream, apiKey: string): SimulatedUpstream {
  return {
    baseUrl: server.baseUrl,
    apiKey,
    now: () => new Date(server.world().nowMs),
    passTime(durationMs) {
      if (!(durationMs > 0 && durationMs <= PASS_MS_MAX))
        throw new RangeError(`passTime takes more than 0 and at most ${PASS_MS_MAX} ms, not ${durationMs}`);
      server.passMs(durationMs);
      server.world();
    },
    setFaults: (faults) => void Object.assign(server.faults, checkFaults(faults)),
    projectIds: () =>
      server
        .world()
        .projects()
        .map(({ id }) => id),
    truth: () => server.world().groundTruth(),
    addKey: (key) => server.addKey(key),
    revokeKey: (key) => server.revokeKey(key),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

const optionsSchema = z.strictObject({
  // The service itself has room for 10,000 projects.
  projects: z.number().int().min(0).max(10_000).default(3),
  seed: z.number().int().default(1),
  startAt: z.date().optional(),
  speed: z.number().min(0).max(10_000).default(1),
  sessionsPerHour: z.number().min(0).max(1_000).default(SESSIONS_PER_HOUR),
  trouble: z.number().min(0).max(1).default(1),
  apiKey: z.string().min(1).default('test-key'),
});

function checkOptions(options: Omit<SimulatedUpstreamOptions, 'faults'>): z.output<typeof optionsSchema> {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new TypeError(`startUpstream cannot use its options:\n${z.prettifyError(parsed.error)}`);
}

/** Returns the faults that are given. A value that is undefined leaves its fault as it is, except `retryAfterSeconds`. */
function checkFaults(faults: Partial<UpstreamFaults>): Partial<UpstreamFaults> {
  const parsed = dialsSchema.safeParse(faults);
  if (!parsed.success) throw new TypeError(`These faults cannot be used:\n${z.prettifyError(parsed.error)}`);
  const given = Object.entries(parsed.data).filter(
    ([name, value]) => value !== undefined || name === 'retryAfterSeconds',
  );
  return Object.fromEntries(given);
}

/** At speed 0 the clock stands still. Waits take the machine's time, because a delayed answer must arrive all the same. */
function clockOfTest(startAtMs: number, speed: number): Clock {
  const startedMs = systemClock.now();
  return { ...systemClock, now: () => startAtMs + (systemClock.now() - startedMs) * speed };
}
