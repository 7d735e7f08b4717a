/**
 * Lets the simulated service live for some hours of virtual time, with users and with commands, polls it as production
 * does, and compares what the bridge publishes of branches and computes with what the service knows of them.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { restoreBranch } from '../../infra/simulator/world/branch-restores.ts';
import type { Compute } from '../../infra/simulator/world/compute.ts';
import {
  restartEndpoint,
  startEndpoint,
  suspendEndpoint,
} from '../../infra/simulator/world/compute-commands.ts';
import type { WorldOperation } from '../../infra/simulator/world/project-state.ts';
import { createWorld } from '../../infra/simulator/world/world.ts';
import type { BranchReady, ComputeStateChanged, OperationStateChanged } from '../../shared/events/catalog.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { dependenciesOf, invoke } from './by-hand.ts';
import { START_MS } from './close-stage.ts';
import { deriveOptions, NO_FAULTS } from './options.ts';
import { createServiceClient, wholeSeconds } from './service-client.ts';
import { setTheStage } from './simulate.ts';
import { NOTHING_ODD } from './upstream-model.ts';

const HOUR_MS = 3_600_000;
const LIVES_MS = HOUR_MS;
const INVOCATION_MS = 60_000;
const FIRST_POLL_MS = 5_000;

const options = {
  ...deriveOptions(1),
  backfill: 'open' as const,
  firstPageRows: 100,
  widePageRows: 1_000,
  pagesMax: 20,
  overlapMs: 5 * 60_000,
  boundStepRows: 24,
  pollIntervalMs: 10_000,
  sweepIntervalMs: 24 * HOUR_MS,
  faults: NO_FAULTS,
};

type Arrived<Detail> = Detail & { readonly arrivedAtMs: number };

/** Runs the service with a poller, and returns the truth beside what was published. */
async function live(seed: number) {
  const stage = setTheStage(options, NOTHING_ODD);
  const { scheduler } = stage.world;
  const service = createWorld({
    seed,
    projectCount: 6,
    startAtMs: START_MS,
    sessionsPerHour: 40,
    trouble: 2,
  });
  const arrivals: number[] = [];
  const push = stage.delivered.push.bind(stage.delivered);
  stage.delivered.push = (...events) => {
    arrivals.push(...events.map(() => scheduler.now()));
    return push(...events);
  };
  const owner = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
  const deps = {
    ...dependenciesOf(stage, owner),
    upstream: createServiceClient(service, () => scheduler.now()),
  };
  const memory = emptyAccountMemory();
  const computes = new Map<string, Compute>();
  const random = seededRandom(seed);
  for (const endMs = START_MS + LIVES_MS; scheduler.now() < endMs; ) {
    void invoke(deps, memory, INVOCATION_MS);
    await scheduler.runUntil(scheduler.now() + INVOCATION_MS + 1_000);
    service.advanceTo(scheduler.now());
    for (const project of service.projects())
      for (const each of project.computes) computes.set(each.endpoint_id, each);
    sendCommand(service, random.next(), scheduler.now());
  }
  const eventsOf = <Detail>(type: string): readonly Arrived<Detail>[] =>
    stage.delivered.flatMap(({ detailType, detail }, place) =>
      detailType === type ? { ...(JSON.parse(detail) as Detail), arrivedAtMs: arrivals[place] ?? 0 } : [],
    );
  const nowMs = scheduler.now();
  const operations = service.projects().flatMap((project) => project.operations);
  return { eventsOf, computes, nowMs, operations };
}

/** Users start computes by connecting. Restarts, suspends and restores come from calls of the API. */
function sendCommand(service: ReturnType<typeof createWorld>, dice: number, nowMs: number): void {
  const projects = service.projects();
  const project = service.project(projects[Math.floor(dice * projects.length)]?.id ?? '');
  const compute = project?.computes.at(-1);
  if (project === undefined || compute === undefined) return;
  const kind = Math.floor(dice * 1_000) % 4;
  if (kind === 0) restartEndpoint(project, compute.endpoint_id, nowMs);
  if (kind === 1) suspendEndpoint(project, compute.endpoint_id, nowMs);
  if (kind === 2) startEndpoint(project, compute.endpoint_id, nowMs);
  if (kind === 3)
    restoreBranch(
      project,
      {
        branchId: compute.branch_id,
        sourceId: project.defaultBranchId,
        point: {},
        preserveUnderName: `backup-${nowMs}`,
      },
      nowMs,
    );
}

/** Returns the last state that began before this time. */
const statusAt = ({ states }: WorldOperation, nowMs: number) =>
  states.findLast(({ at_ms }) => at_ms <= nowMs)?.status ?? '';

/** Groups the operations by the branch that they create, first the creation, as the service has run them. */
function creationsIn(operations: readonly WorldOperation[]): readonly (readonly WorldOperation[])[] {
  const creations = operations.filter(
    ({ action, created_us, branch_id }) =>
      ['create_branch', 'create_timeline'].includes(action) &&
      created_us / 1_000 > START_MS &&
      operations.every((other) => other.branch_id !== branch_id || other.created_us >= created_us),
  );
  return creations.map((creation) =>
    operations.filter(
      (other) => other.branch_id === creation.branch_id && other.created_us - creation.created_us < 100_000,
    ),
  );
}

describe.each([1, 2])('what the bridge says of the service, in world %i', (seed) => {
  let lived: Awaited<ReturnType<typeof live>>;

  beforeAll(async () => {
    lived = await live(seed);
  }, 120_000);

  test('every branch that can be used became ready once, and no other', () => {
    const { operations, nowMs, eventsOf } = lived;
    const ready = eventsOf<BranchReady>('Branch Ready');
    const creations = creationsIn(operations);
    // What ended within the last half minute may not have been read yet.
    const areOver = (created: readonly WorldOperation[]) =>
      created.every(({ states }) => (states.at(-1)?.at_ms ?? 0) < nowMs - 30_000);
    const usable = creations.filter(([creation, ...others]) => {
      if (creation === undefined || statusAt(creation, nowMs) !== 'finished') return false;
      return others.every((other) => ['finished', 'skipped'].includes(statusAt(other, nowMs)));
    });
    const expected = usable.filter(areOver).map(([creation]) => creation?.branch_id);
    const possible = new Set(usable.map(([creation]) => creation?.branch_id));

    expect(expected.length).toBeGreaterThan(10);
    expect(new Set(ready.map(({ branch_id }) => branch_id)).size).toBe(ready.length);
    expect(ready.filter(({ branch_id }) => !possible.has(branch_id))).toEqual([]);
    expect(expected.filter((id) => !ready.some(({ branch_id }) => branch_id === id))).toEqual([]);
  });

  test('a branch is ready as soon as the end of its last operation is published', () => {
    const { eventsOf } = lived;
    const ends = new Map(
      eventsOf<OperationStateChanged>('Operation State Changed').map((event) => [event.operation_id, event]),
    );
    const delays = eventsOf<BranchReady>('Branch Ready').map(({ operations, arrivedAtMs }) => {
      const published = operations.map(({ operation_id }) => ends.get(operation_id)?.arrivedAtMs ?? 0);
      return arrivedAtMs - Math.max(...published);
    });

    expect(Math.max(...delays)).toBeLessThan(1_000);
  });

  test('the chain of each compute is the chain of its states in the service', () => {
    const { computes, nowMs, eventsOf } = lived;
    const changes = Map.groupBy(
      eventsOf<ComputeStateChanged>('Compute State Changed'),
      ({ endpoint_id }) => endpoint_id,
    );
    let comparedCount = 0;
    for (const [endpointId, compute] of computes) {
      const truth = chainOf(compute, nowMs - 30_000);
      const told = (changes.get(endpointId) ?? [])
        .filter((event) => event.operation_updated_at >= wholeSeconds(WATCHED_FROM_MS))
        .map((event) => `${event.state} ${event.operation_updated_at}`);
      comparedCount += truth.length;
      // Changes of the last half minute may be known already.
      expect({ endpointId, chain: told.slice(0, truth.length) }).toEqual({ endpointId, chain: truth });
    }
    expect(comparedCount).toBeGreaterThan(50);
  });
});

/** What changed before the first poll is history. The time is a whole second, as rows show it. */
const WATCHED_FROM_MS = Math.floor(START_MS / 1_000) * 1_000 + FIRST_POLL_MS;

/** A compute that never ran counts as idle. */
function chainOf({ phases }: Compute, untilMs: number): readonly string[] {
  const states = phases.map(({ atMs, current }) => ({ atMs, state: current === 'init' ? 'idle' : current }));
  return states
    .filter(({ state }, place) => state !== (states[place - 1]?.state ?? 'idle'))
    .filter(({ atMs }) => atMs >= WATCHED_FROM_MS && atMs < untilMs)
    .map(({ state, atMs }) => `${state} ${wholeSeconds(atMs)}`);
}
