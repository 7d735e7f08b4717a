/** The simulated upstream for tests of other projects, exported as `operations-bridge/testing`. */

import { PASS_MS_MAX } from '../../simulator/routes/control-routes.ts';
import { type LocalUpstream, startUpstream as startServer } from '../../simulator/start-upstream.ts';
import { checkFaults, checkOptions, clockOfTest } from './options.ts';
import type { SimulatedUpstream, SimulatedUpstreamOptions } from './simulated-upstream.ts';

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
