/** Runs the simulated service's app without a server, on a clock that only a test moves. */

import { createFaultDials, createRequestLimits, type FaultDials } from '../../infra/simulator/faults.ts';
import { createUpstreamApp } from '../../infra/simulator/start-upstream.ts';
import { createKeyRing, type KeyRing } from '../../infra/simulator/world/account.ts';
import { drawSecret, drawUuid } from '../../infra/simulator/world/names.ts';
import type { WorldProject } from '../../infra/simulator/world/project-state.ts';
import { createWorld, type World, type WorldOptions } from '../../infra/simulator/world/world.ts';
import { seededRandom } from '../../shared/runtime/random.ts';

export const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);
export const API_KEY = 'a-key';

export const HOUR_MS = 3_600_000;

/** At this interval requests stay below 700 a minute. */
const PAUSE_MS = 90;

export function aWorld(options: Partial<WorldOptions> = {}): World {
  return createWorld({ seed: 7, projectCount: 6, startAtMs: START_MS, ...options });
}

/** Creates a world of three days, in which everything rare has happened. */
export function aLongLivedWorld(): World {
  const world = aWorld({ projectCount: 25, historyMs: 0, sessionsPerHour: 12 });
  world.advanceTo(START_MS + 72 * HOUR_MS);
  return world;
}

export function busiestProject(world: World): WorldProject {
  const [busiest] = world.projects().toSorted((a, b) => b.operations.length - a.operations.length);
  if (busiest === undefined) throw new Error('The world has no project');
  return busiest;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

export interface UpstreamUnderTest {
  readonly world: World;
  readonly faults: FaultDials;
  readonly apiKeys: KeyRing;
  readonly sleeps: number[];
  /** Sends a GET below `/api/v2`. */
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  /** Sends a request with a body in JSON below `/api/v2`. */
  readonly send: (method: string, path: string, body?: object) => Promise<Answer>;
  readonly passMs: (durationMs: number) => void;
}

export function startUpstreamUnderTest(world: World = aWorld()): UpstreamUnderTest {
  let nowMs = world.nowMs;
  const faults = createFaultDials();
  const secretDice = seededRandom(3);
  const apiKeys = createKeyRing({
    secrets: [API_KEY],
    drawSecret: () => drawSecret(secretDice),
    now: () => nowMs,
  });
  const sleeps: number[] = [];
  const idDice = seededRandom(1);
  const app = createUpstreamApp({
    world,
    now: () => nowMs,
    keys: apiKeys,
    idDice: secretDice,
    limits: createRequestLimits(),
    faults,
    random: seededRandom(2),
    newId: () => drawUuid(idDice),
    sleep: async (durationMs) => void sleeps.push(durationMs),
    passMs: (durationMs) => {
      nowMs += durationMs;
    },
  });
  const request = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await app.request(`/api/v2${path}`, init);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };
  return {
    world,
    faults,
    apiKeys,
    sleeps,
    get: (path, headers = { authorization: `Bearer ${API_KEY}` }) => request(path, { headers }),
    send: (method, path, body) =>
      request(path, {
        method,
        headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    passMs(durationMs) {
      nowMs += durationMs;
    },
  };
}

/** Reads the rows of all projects, slowly enough for the limits of the service. */
export async function allRows({ world, get, passMs }: UpstreamUnderTest): Promise<Answer['body'][]> {
  const rows: Answer['body'][] = [];
  for (const { id } of world.projects()) {
    const { body } = await get(`/projects/${id}/operations`);
    rows.push(...body.operations);
    passMs(PAUSE_MS);
  }
  return rows;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
