/** Builds the simulated service, and starts it as a server on this machine's loopback interface. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { forOwnHost } from '../process/own-host.ts';
import { createUpstreamApp } from './app.ts';
import { createFaultDials, type FaultDials } from './faults/faults.ts';
import { createRequestLimits } from './faults/limits.ts';
import { createKeyRing } from './world/account/key-ring.ts';
import { drawSecret, drawUuid } from './world/state/names.ts';
import { createWorld, type World, type WorldOptions } from './world/world.ts';

export interface UpstreamOptions extends Omit<WorldOptions, 'startAtMs'> {
  /**
   * The world begins to live at this time, in milliseconds since the epoch. Its history lies before. The default is
   * the clock's present.
   */
  readonly startAtMs?: number;
  readonly port?: number | undefined;
  /** The service accepts these keys until `revokeKey` is called. */
  readonly apiKeys: readonly string[];
  /** These faults are on from the start. Every dial can be changed later. */
  readonly dials?: Partial<FaultDials>;
  readonly clock?: Clock;
}

export interface LocalUpstream extends AsyncDisposable {
  /** The URL ends with `/api/v2`. */
  readonly baseUrl: string;
  /** Returns the world as it is at the clock's present. No timer advances it: lives are drawn when the world is read. */
  world(): World;
  readonly faults: FaultDials;
  /** Moves the time of the service forward, beyond its clock. */
  passMs(durationMs: number): void;
  addKey(key: string): void;
  /** Revokes a key at once and for ever (specification "Authentication", rule 7). */
  revokeKey(key: string): void;
  close(): Promise<void>;
}

/** The simulated service without a server: requests enter through `app`. */
export interface UpstreamService
  extends Omit<LocalUpstream, 'baseUrl' | 'close' | typeof Symbol.asyncDispose> {
  readonly app: ReturnType<typeof createUpstreamApp>;
}

export function createUpstreamService(options: UpstreamOptions): UpstreamService {
  const { clock = systemClock, seed } = options;
  let passedMs = 0;
  const now = () => clock.now() + passedMs;
  const world = createWorld({ ...options, startAtMs: options.startAtMs ?? clock.now() });
  const faults = { ...createFaultDials(), ...options.dials };
  const idDice = seededRandom(seed + 2);
  const secretDice = seededRandom(seed + 3);
  const keys = createKeyRing({
    secrets: options.apiKeys,
    drawSecret: () => drawSecret(secretDice),
    now,
  });
  const passMs = (durationMs: number) => {
    passedMs += durationMs;
  };
  const app = createUpstreamApp({
    world,
    now,
    passMs,
    keys,
    idDice: secretDice,
    limits: createRequestLimits(),
    faults,
    random: seededRandom(seed + 1),
    newId: () => drawUuid(idDice),
    sleep: (durationMs) => clock.sleep(durationMs),
  });
  return {
    app,
    world() {
      world.advanceTo(now());
      return world;
    },
    faults,
    passMs,
    addKey: (key) => keys.add(key),
    revokeKey: (key) => void keys.delete(key),
  };
}

export async function startUpstream(options: UpstreamOptions): Promise<LocalUpstream> {
  const { app, ...service } = createUpstreamService(options);
  const server = createAdaptorServer({
    fetch: forOwnHost((request, connection) => app.fetch(request, connection)),
    overrideGlobalObjects: false,
  }) as Server;
  await listen(server, options.port ?? 0);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    ...service,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Listens on loopback only, so that no other machine can connect. Rejects with Node's own error when the port is
 * taken.
 */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
