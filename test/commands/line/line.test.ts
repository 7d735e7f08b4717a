import { describe, expect, test } from 'vitest';
import { type CommandState, isInLine } from '../../../shared/commands/queued-command.ts';
import type { CommandSettled } from '../../../shared/events/catalog.ts';
import { createLineWorld, type LineWorld, type LineWorldOptions, START_MS } from './line-world.ts';

const projects = (count: number) =>
  Array.from({ length: count }, (_, place) => `quiet-pond-${String(place).padStart(8, '0')}`);

/** Of each project, callers queue commands one after the other, while other clients of the upstream take its lock. */
async function runCommands(
  options: LineWorldOptions & {
    readonly perProject: number;
    readonly gapMs: number;
    readonly chaosMs: number;
  },
): Promise<LineWorld> {
  const line = createLineWorld(options);
  const { scheduler, random } = line.world;
  for (const projectId of options.projectIds) {
    void (async () => {
      for (let count = 0; count < options.perProject; count++) {
        await scheduler.delay(undefined, random.next() * 2 * options.gapMs);
        await line.accept(projectId);
      }
    })();
    void (async () => {
      while (line.world.isChaotic) {
        await scheduler.delay(undefined, random.next() * 240_000);
        line.upstream.disturb(projectId);
      }
    })();
  }
  await line.runUntil(START_MS + options.chaosMs);
  line.world.isChaotic = false;
  await line.runUntil(START_MS + options.chaosMs + 1_800_000);
  return line;
}

const executionsOf = (line: LineWorld) => line.upstream.received.filter(({ status }) => status === 200);

function executedTwice(line: LineWorld): readonly string[] {
  const groups = Map.groupBy(executionsOf(line), ({ endpointId }) => endpointId);
  return [...groups].filter(([, found]) => found.length > 1).map(([endpointId]) => endpointId);
}

/** Commands of one project that the upstream carried out in another order than that of their acceptance. */
function outOfOrder(line: LineWorld): readonly string[] {
  const places = new Map(line.accepted.map(({ endpointId }, place) => [endpointId, place]));
  const groups = Map.groupBy(executionsOf(line), ({ projectId }) => projectId);
  return [...groups.values()].flatMap((found) => {
    const order = found.flatMap(({ endpointId }) => places.get(endpointId) ?? []);
    return order.flatMap((place, index) =>
      place < (order[index - 1] ?? -1) ? (line.accepted[place]?.commandId ?? []) : [],
    );
  });
}

const settledEvents = (line: LineWorld) =>
  line.delivered
    .filter(({ detailType }) => detailType === 'Command Settled')
    .map(({ detail }) => JSON.parse(detail) as CommandSettled);

async function statesOf(line: LineWorld): Promise<ReadonlyMap<string, CommandState>> {
  const states = line.accepted.map(async ({ commandId }) => {
    return [commandId, (await line.queue.readCommand(commandId))?.state ?? 'unknown'] as const;
  });
  return new Map(await Promise.all(states));
}

/** The ids of accepted commands without the event of their end, or with two different ends. */
function withoutOneEnd(line: LineWorld): readonly string[] {
  const events = Map.groupBy(settledEvents(line), ({ command }) => command.request_id);
  return line.accepted
    .map(({ commandId }) => commandId)
    .filter((id) => new Set(events.get(id)?.map(({ outcome }) => outcome)).size !== 1);
}

describe('two hundred commands of twenty projects, whose locks come and go', () => {
  const KILLS = { crash_before_call: 0.0004, crash_after_call: 0.0004, index_lag: 0.5 };

  test('are sent at most once and in order, settle, succeed, and cost little more than a request each', async () => {
    const line = await runCommands({
      seed: 11,
      projectIds: projects(20),
      perProject: 10,
      gapMs: 30_000,
      chaosMs: 1_200_000,
      faults: KILLS,
      redelivery: 0.3,
    });

    const states = await statesOf(line);
    const outcomes = settledEvents(line).map(
      ({ command, outcome }) => [command.request_id, outcome] as const,
    );
    const succeeded = new Set(outcomes.flatMap(([id, outcome]) => (outcome === 'succeeded' ? id : [])));
    const requests = line.upstream.received.length / line.accepted.length;
    const failures = [...states].filter(([id]) => !succeeded.has(id));
    const share = 1 - failures.length / states.size;
    console.log(
      `${states.size} commands, ${states.size - failures.length} succeeded, ${requests.toFixed(2)} requests each; ` +
        `others: ${failures.map(([, state]) => state).join(', ') || 'none'}; ` +
        `kills: ${[...line.world.fired].map(([kind, count]) => `${kind} ${count}`).join(', ')}`,
    );
    expect(line.accepted.length).toBeGreaterThan(190);
    expect(executedTwice(line)).toEqual([]);
    expect(outOfOrder(line)).toEqual([]);
    expect(withoutOneEnd(line)).toEqual([]);
    expect([...states.values()].filter((state) => isInLine({ state }))).toEqual([]);
    expect(share).toBeGreaterThanOrEqual(0.95);
    expect(requests).toBeLessThanOrEqual(1.2);
    expect(line.world.fired.get('crash_before_call')).toBeGreaterThan(0);
    expect(line.world.fired.get('crash_after_call')).toBeGreaterThan(0);
  }, 120_000);
});

describe('commands that come faster than the rate limit allows', () => {
  test('are sent as soon as there are permits, and bring no message nearer to the dead letters', async () => {
    const line = createLineWorld({
      seed: 5,
      projectIds: projects(100),
      faults: {},
      redelivery: 0,
      permitsPerMinute: 60,
    });
    for (const projectId of projects(100)) void line.accept(projectId);

    await line.runUntil(START_MS + 120_000);

    const share = executionsOf(line).length / 100;
    console.log(`100 commands at 60 permits a minute: ${(share * 100).toFixed(0)} % sent after 120 s`);
    expect(share).toBe(1);
    expect(line.deadLetterCount()).toBe(0);
  }, 60_000);
});

describe('commands of a few projects, with every part killed often', () => {
  const HARSH = {
    crash_before_call: 0.01,
    crash_after_call: 0.01,
    pause: 0.005,
    index_lag: 0.5,
    table_throttled: 0.03,
    table_read_throttled: 0.02,
    table_reply_lost: 0.03,
    table_sdk_retry_after_apply: 0.05,
    bus_reply_lost: 0.1,
    upstream_network: 0.03,
  };

  test.each([1, 2, 3, 4, 5, 6])(
    'with seed %i each is carried out at most once and in order, and comes to one end',
    async (seed) => {
      const line = await runCommands({
        seed,
        projectIds: projects(3),
        perProject: 6,
        gapMs: 20_000,
        chaosMs: 400_000,
        faults: HARSH,
        redelivery: 0.5,
      });

      const states = await statesOf(line);
      expect(line.accepted.length).toBeGreaterThan(5);
      expect(executedTwice(line)).toEqual([]);
      expect(outOfOrder(line)).toEqual([]);
      expect(withoutOneEnd(line)).toEqual([]);
      expect([...states.values()].filter((state) => isInLine({ state }))).toEqual([]);
    },
    60_000,
  );
});
