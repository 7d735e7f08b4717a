/**
 * Plays callers against several instances of the API and both of the worker, over one table and one simulated upstream, on
 * virtual time: what each caller asks for, what of it the upstream has done, and when requests reached the upstream.
 */

import { commandsQueue } from '../../../functions/commands/invocation.ts';
import { COMMAND_CONSUMERS_MAX } from '../../../infra/aws/resources/api.ts';
import { createLocalFifoQueue } from '../../../infra/local/aws/sqs/event-source.ts';
import { createUpstreamService } from '../../../infra/simulator/start-upstream.ts';
import { groupOf, type Wake } from '../../../shared/commands/wakes.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { ledgerKey, projectKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { ACCOUNT_ID, type ApiUnderTest, createApiUnderTest } from '../../api/api-under-test.ts';
import { NOON_MS } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler } from '../../simulation/scheduler.ts';

export const MINUTE_MS = 60_000;

/** The limit of all commands together, and that of one caller: the defaults of an account. */
export const COMMANDS = 250;

/** The way to the table and back takes this time, so others learn a little later what an instance has counted. */
const TABLE_MS = 15;

/** The upstream answers after this time. */
const ANSWER_MS = 80;

/** Commands that are in line when nobody asks any more have this time to be sent. */
const REST_MS = 2 * MINUTE_MS;

const UPSTREAM_KEY = 'a-key';

interface Asked {
  readonly projectId: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallerPlan {
  readonly name: string;
  readonly perMinute: number;
  /** Returns the next command of the caller. `count` is the number of those before it. */
  readonly next: (count: number, existing: readonly string[]) => Asked;
}

export interface Attack {
  readonly seed: number;
  readonly instanceCount: number;
  readonly callers: readonly CallerPlan[];
  readonly minutes: number;
  /** Says whether the table refuses the writes that count, this long after the beginning. */
  readonly isRefused?: (sinceMs: number) => boolean;
}

export interface Played {
  /** By the name of the caller, how many commands it asked for and how many of them the upstream has done. */
  readonly askedBy: ReadonlyMap<string, number>;
  readonly doneBy: ReadonlyMap<string, number>;
  /** By the name of the caller and the status, how many answers the caller got. */
  readonly answers: ReadonlyMap<string, number>;
  readonly mostInAMinute: number;
}

type Worker = ReturnType<ApiUnderTest['startWorker']>;

/** Every command gives a project a name that no other command gives, so the upstream shows which of them it has done. */
export async function play({ seed, instanceCount, callers, minutes, isRefused }: Attack): Promise<Played> {
  const scheduler = createScheduler(NOON_MS);
  const clock = scheduler.clockOf({ name: 'bridge', isCrashed: false, clockSkewMs: 0 });
  const random = seededRandom(seed);
  const memory = createMemoryTable();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const fifo = createLocalFifoQueue(commandsQueue, { clock, newId });
  const upstream = createUpstreamService({
    seed,
    projectCount: 10,
    historyMs: 0,
    sessionsPerHour: 0,
    startAtMs: NOON_MS,
    clock,
    apiKeys: [UPSTREAM_KEY],
  });
  const projectIds = upstream
    .world()
    .projects()
    .map(({ id }) => id);
  for (const projectId of projectIds)
    memory.sync.update({ key: projectKey(ACCOUNT_ID, projectId), set: { kind: 'project' } });

  const reachedAtMs: number[] = [];
  const done = new Set<string>();
  const fetchUpstream = (async (url: URL, init: RequestInit = {}) => {
    reachedAtMs.push(clock.now());
    upstream.world();
    const response = await upstream.app.request(String(url), { ...init, signal: null });
    if (response.ok && init.method === 'PATCH') done.add(nameIn(init.body));
    await clock.sleep(ANSWER_MS);
    return response;
  }) as typeof fetch;
  const slowly = (table: Table): Table => ({
    ...table,
    async update(update) {
      if (update.key.pk !== ledgerKey(ACCOUNT_ID).pk) return table.update(update);
      await clock.sleep(TABLE_MS);
      if (isRefused?.(clock.now() - NOON_MS) === true) throw new Error('the write was throttled');
      return table.update(update);
    },
  });
  const instances = Array.from({ length: instanceCount }, () =>
    createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.test/api/v2',
      upstreamKey: UPSTREAM_KEY,
      accountSettings: { requests_per_minute: COMMANDS, poller_requests_per_minute: 350 },
      memory,
      clock,
      newId,
      fetch: fetchUpstream,
      wrapTable: slowly,
      instancesMax: instanceCount + COMMAND_CONSUMERS_MAX,
      wakes: { send: async (wakes) => wakes.forEach(sendWake) },
      handBack: async (receiptHandle, pauseMs) => fifo.hide(receiptHandle, pauseMs),
    }),
  );
  const [first] = instances;
  if (first === undefined) throw new Error('An attack needs an instance');
  function sendWake({ account_id, project_id, id }: Wake): void {
    const body = JSON.stringify({ account_id, project_id });
    fifo.send({ body, groupId: groupOf({ account_id, project_id }), deduplicationId: id });
  }

  const endMs = NOON_MS + minutes * MINUTE_MS;
  const askedBy = new Map<string, number>();
  const answers = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

  async function ask({ name, perMinute, next }: CallerPlan): Promise<void> {
    const authorization = `Bearer ${await first?.issueToken({ client_id: name, validForMs: 86_400_000 })}`;
    const send = async (count: number) => {
      const { projectId, headers } = next(count, projectIds);
      const instance = instances[Math.floor(random.next() * instanceCount)];
      const answer = await instance?.app.request(`/api/v2/projects/${projectId}`, {
        method: 'PATCH',
        headers: { authorization, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ project: { name: `${name} ${count}` } }),
      });
      add(answers, `${name} ${answer?.status}`);
      await answer?.text();
    };
    for (let count = 0; ; count++) {
      await clock.sleep(((0.5 + random.next()) * MINUTE_MS) / perMinute);
      if (clock.now() >= endMs) return;
      add(askedBy, name);
      void send(count);
    }
  }

  async function runWorker(handle: Worker): Promise<void> {
    for (;;) {
      const batch = fifo.receive(commandsQueue.batchSize);
      if (batch.length === 0) {
        await clock.sleep(200);
        continue;
      }
      const Records = batch.map(({ messageId, body, receiveCount }) => {
        const attributes = { ApproximateReceiveCount: String(receiveCount) };
        return { messageId, receiptHandle: messageId, body, attributes };
      });
      const { batchItemFailures } = await handle({ Records });
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      for (const { messageId } of batch) if (!failed.has(messageId)) fifo.delete(messageId);
    }
  }

  async function sweep(handle: Worker): Promise<void> {
    for (;;) {
      await clock.sleep(MINUTE_MS);
      await handle({});
    }
  }

  const workers = Array.from({ length: COMMAND_CONSUMERS_MAX }, () => first.startWorker());
  for (const worker of workers) void runWorker(worker);
  for (const worker of workers.slice(0, 1)) void sweep(worker);
  for (const plan of callers) void ask(plan);
  await scheduler.runUntil(endMs + REST_MS);

  const doneBy = new Map<string, number>();
  for (const named of done) add(doneBy, named.split(' ')[0] ?? '');
  return { askedBy, doneBy, answers, mostInAMinute: mostInAMinute(reachedAtMs) };
}

function nameIn(body: RequestInit['body']): string {
  return (JSON.parse(typeof body === 'string' ? body : '') as { readonly project: { readonly name: string } })
    .project.name;
}

function mostInAMinute(atMs: readonly number[]): number {
  let first = 0;
  return atMs.reduce((most, now, place) => {
    while (now - (atMs[first] ?? now) >= MINUTE_MS) first += 1;
    return Math.max(most, place - first + 1);
  }, 0);
}
