import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { API_KEY, type BridgeOptions, type BridgeUnderTest, startBridge } from './bridge-under-test.ts';
import { compareWithTruth, owedCount } from './truth.ts';

const PROJECT_COUNT = 8;

let bridge: BridgeUnderTest | undefined;

afterEach(async () => {
  await bridge?.close();
  bridge = undefined;
});

async function start(options: Partial<BridgeOptions> = {}): Promise<BridgeUnderTest> {
  bridge = await startBridge({
    seed: 11,
    projectCount: PROJECT_COUNT,
    speed: 20,
    sessionsPerHour: 120,
    ...options,
  });
  return bridge;
}

/** Passes every answer of the upstream to `onAnswer` while `perform` runs. */
async function watchAnswers(
  onAnswer: (url: URL, answer: Response) => void,
  perform: () => Promise<void>,
): Promise<void> {
  const original = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const answer = await original(input, init);
    onAnswer(new URL(input instanceof Request ? input.url : input), answer);
    return answer;
  };
  try {
    await perform();
  } finally {
    globalThis.fetch = original;
  }
}

/** Invokes the poller until every project has been read. On a busy machine an invocation reads fewer projects. */
async function readEveryProject({ invoke, coldStart }: BridgeUnderTest): Promise<void> {
  const projects = new Set<string>();
  await watchAnswers(
    ({ pathname }, { ok }) => {
      const projectId = /\/projects\/([^/]+)\/operations$/.exec(pathname)?.[1];
      if (ok && projectId !== undefined) projects.add(projectId);
    },
    async () => {
      while (projects.size < PROJECT_COUNT) await invoke(coldStart(), 20_000);
    },
  );
}

/** An invocation without an end may take this time at most. Every test stops its own earlier. */
const LONG_MS = 3_600_000;

describe('the bridge over HTTP', { timeout: 600_000 }, () => {
  test('delivers what really happened despite faults of the upstream, the table and the bus', async () => {
    const dice = seededRandom(3);
    let isChaotic = false;
    const strikes = (chance: number) => isChaotic && dice.next() < chance;
    const under = await start({
      faults: {
        beforeCall: ({ service }) =>
          service !== 'secretsmanager' && strikes(0.03)
            ? { type: 'ThrottlingException', message: 'slow down' }
            : undefined,
        losesReply: ({ service }) => service !== 'secretsmanager' && strikes(0.02),
        failEntry: () => (strikes(0.05) ? 'InternalFailure' : undefined),
      },
    });
    const { upstream, invoke, coldStart, clock, delivered, aws } = under;
    const bootMs = clock.now();
    await readEveryProject(under);
    const readyMs = clock.now();
    isChaotic = true;
    Object.assign(upstream.faults, {
      rateLimited: 0.03,
      internalError: 0.02,
      unavailable: 0.02,
      htmlError: 0.01,
      droppedConnection: 0.02,
      halfBody: 0.02,
      partialProjects: 0.2,
      visibleLateMs: 30_000,
    });
    for (let round = 0; round < 5; round++) await invoke(coldStart(), 50_000);
    isChaotic = false;
    for (const dial of Object.keys(upstream.faults)) Object.assign(upstream.faults, { [dial]: 0 });
    Object.assign(upstream.faults, { retryAfterSeconds: undefined });
    const settledMs = clock.now();
    const missing = () =>
      compareWithTruth(upstream.world().groundTruth(), delivered, { bootMs, readyMs, settledMs });
    // A busy machine needs more rounds. A lost event never arrives, and then the test fails by its time-out.
    do {
      await invoke(coldStart(), 80_000);
      await aws.bus.idle();
    } while (missing().length > 0);

    const truth = upstream.world().groundTruth();
    expect(owedCount(truth, { bootMs, readyMs, settledMs })).toBeGreaterThan(20);
  });

  test('publishes events that fit their schema and do not contain the key', async () => {
    const { invoke, coldStart, delivered, aws } = await start();
    const details = () => delivered.filter((event) => event['detail-type'] === 'Operation State Changed');
    do {
      await invoke(coldStart(), 60_000);
      await aws.bus.idle();
    } while (details().length <= 5);

    for (const { detail } of details())
      expect(() => operationStateChanged.detail.strict().parse(detail)).not.toThrow();
    expect(JSON.stringify(delivered)).not.toContain(API_KEY);
  });

  test('publishes no event again under a new id after a cold start', async () => {
    const { invoke, coldStart, delivered, aws } = await start();
    await invoke(coldStart(), 40_000);
    await invoke(coldStart(), 40_000);
    await aws.bus.idle();

    // A compute counts its events by itself, and a branch has none of the operation's numbers.
    const places = delivered.map(({ 'detail-type': type, detail }) =>
      JSON.stringify([type, detail['operation_id'], detail['branch_id'], detail['sequence']]),
    );
    const ids = delivered.map(({ detail }) => detail['id']);
    expect(new Set(ids).size).toBe(new Set(places).size);
  });

  test('stops on a revoked key, publishes Account Degraded, and Account Recovered with a new key', async () => {
    const { invoke, coldStart, delivered, aws, upstream } = await start();
    await invoke(coldStart(), 20_000);
    const outcomes: string[] = [];
    const health = () =>
      delivered.filter((event) => /^Account (Degraded|Recovered)$/.test(event['detail-type']));
    // On a busy machine one invocation may end before it has asked the upstream at all.
    const invokeUntil = async (isDone: () => boolean) => {
      do {
        outcomes.push(...Object.keys((await invoke(coldStart(), 30_000)).outcomes));
        await aws.bus.idle();
      } while (!isDone());
    };
    upstream.revokeKey(API_KEY);
    await invokeUntil(() => outcomes.includes('key_rejected'));
    aws.secrets.put('upstream-key', 'a-new-key');
    upstream.addKey('a-new-key');
    await invokeUntil(() => health().some((event) => event['detail-type'] === 'Account Recovered'));

    expect(outcomes.at(-1)).toBe('stopped');
    expect(health().map((event) => [event['detail-type'], event.detail['reason']])).toEqual([
      ['Account Degraded', 'key_rejected'],
      ['Account Recovered', 'key_rejected'],
    ]);
  });

  test('continues with a rotated key within the same handler', async () => {
    const { invoke, coldStart, aws, upstream } = await start();
    const handler = coldStart();
    await invoke(handler, 20_000);
    aws.secrets.put('upstream-key', 'a-new-key');
    upstream.addKey('a-new-key');
    upstream.revokeKey(API_KEY);

    expect((await invoke(handler, 20_000)).outcomes).toEqual({ stopped: 1 });
  });

  test('lets only one of two overlapping invocations of an account send requests', async () => {
    const { invoke, coldStart, aws } = await start();
    const stop = new AbortController();
    const first = invoke(coldStart(), LONG_MS, stop.signal);
    // The poller reads its key only after it holds the lease.
    await expect
      .poll(() => aws.counts.get('secretsmanager:GetSecretValue') ?? 0, { timeout: 60_000 })
      .toBeGreaterThan(0);
    const second = await invoke(coldStart(), 10_000);
    stop.abort();

    expect([(await first).outcomes, second.outcomes]).toEqual([{ stopped: 1 }, { lease_held: 1 }]);
  });

  test('never gets a 429 from a service that enforces the documented limits', async () => {
    const { invoke, coldStart } = await start({ projectCount: 50, speed: 10, historyMs: 60_000 });
    const handler = coldStart();
    let refusedCount = 0;
    let pollCount = 0;
    await watchAnswers(
      (_url, { status }) => {
        if (status === 429) refusedCount += 1;
      },
      async () => {
        while (pollCount <= 100) pollCount += (await invoke(handler, 120_000)).pollCount;
      },
    );

    expect(refusedCount).toBe(0);
  });

  test('reads how many requests commands have sent, unless the account allows none', async () => {
    const send = vi.spyOn(DynamoDBDocumentClient.prototype, 'send');
    const looks = () =>
      send.mock.calls.filter(([{ input }]) => JSON.stringify(input).includes('USAGE#main')).length;
    const withCommands = await start({ request: { command_requests_per_minute: 250 } });
    send.mockClear();
    while (looks() <= 1) await withCommands.invoke(withCommands.coldStart(), 12_000);
    await withCommands.close();

    const without = await start({ request: { command_requests_per_minute: 0 } });
    send.mockClear();
    await readEveryProject(without);
    expect(looks()).toBe(0);
    send.mockRestore();
  });

  test('refuses an unusable payload and names each field that is wrong', async () => {
    const { coldStart } = await start();
    const handler = coldStart();

    await expect(
      handler({ account_id: 'Bad Name' }, { getRemainingTimeInMillis: () => 10_000 }),
    ).rejects.toThrow(
      /The invocation payload is not usable\. account_id: .*upstream_base_url: .*key_secret_id/,
    );
  });
});

test('a bridge under test that fails to start leaves no server open', async () => {
  const serverCount = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = serverCount();
  const faults = { beforeCall: () => ({ type: 'AccessDeniedException', message: 'no table' }) };

  await expect(startBridge({ seed: 1, projectCount: 1, speed: 1, faults })).rejects.toThrow('no table');
  await expect.poll(serverCount, { timeout: 20_000 }).toBe(before);
});
