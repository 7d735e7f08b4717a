/** Sends commands without HTTP on the caller's side, as a worker on a queue sends them: everything comes back as data. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { sendUnkeyed } from '../../shared/commands/send-command.ts';
import { sendOnce } from '../../shared/commands/send-once.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import type { CommandRequest } from '../../shared/upstream/forward.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { createUpstreamClient, depsOf } from '../../shared/upstream/upstream-client.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const PROJECT_ID = 'bold-sound-12345678';

const OPERATION = {
  id: 'd6ad21e4-725d-493f-a495-43867ad88d09',
  project_id: PROJECT_ID,
  action: 'start_compute',
  status: 'running',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};

function setUp(answer: () => Response) {
  const upstreamDouble = createUpstreamDouble(answer);
  const clock = systemClock;
  const key = createSecret('the-key-of-the-upstream');
  const options = {
    baseUrl: 'https://upstream.example/api/v2',
    apiKey: { current: async () => key, refresh: async () => key },
    clock,
    random: seededRandom(1),
    budget: createRequestBudget({ clock, requestsPerMinute: 700, burst: 40 }),
    fetch: upstreamDouble.fetch,
  };
  const memory = createMemoryTable();
  const table = memory.as('api');
  const store = createBridgeStore(table, 'main', clock);
  const deps = {
    idempotency: createIdempotencyStore(table, clock),
    pepper: async () => createSecret('a-pepper'),
    telemetry: silentTelemetry,
  };
  const bus = {
    publish: async (events: readonly object[]) => events.map(() => ({ kind: 'accepted' as const })),
  };
  const upstream = depsOf(options);
  const recording = {
    accountId: 'main',
    bus,
    store,
    upstream: createUpstreamClient(options),
    telemetry: silentTelemetry,
    clock,
    settleWithinMs: 60_000,
  };
  const send = (changes: Partial<CommandRequest> = {}) => {
    const request = { ...aCommand(), ...changes };
    const account = { upstream, work: store, recording };
    return sendOnce(deps, request, () => sendUnkeyed(silentTelemetry, account, request, { patienceMs: 0 }));
  };
  return { send, store, sent: upstreamDouble.sent };
}

function aCommand(): CommandRequest {
  return {
    requestId: 'request-1',
    caller: { account_id: 'main', client_id: 'a-worker' },
    target: { id: 'restartEndpoint', call: calls.restartEndpoint, isSecret: false },
    ids: { project_id: PROJECT_ID, endpoint_id: 'ep-little-smoke-851426' },
    query: {},
    body: undefined,
    idempotencyKey: 'a-key',
  };
}

describe('the outcome of a command', () => {
  test('is the answer of the upstream, and the operations that it started are recorded', async () => {
    const { send, store } = setUp(() => Response.json({ operations: [OPERATION] }));

    const outcome = await send();

    expect(outcome).toMatchObject({
      kind: 'answered',
      answer: { status: 200 },
      operationIds: [OPERATION.id],
    });
    expect(await store.readOperation(PROJECT_ID, OPERATION.id)).toMatchObject({
      status: 'running',
      command: { client_id: 'a-worker', request_id: 'request-1' },
    });
  });

  test('is the first answer for a repetition under the same key', async () => {
    const { send, sent } = setUp(() => Response.json({ operations: [] }));
    await send();

    const repeated = await send({ requestId: 'request-2' });

    expect(repeated).toMatchObject({
      kind: 'replayed',
      answer: {
        status: 200,
        contentType: 'application/json',
        body: '{"operations":[]}',
        isWithheld: false,
      },
      first: { request_id: 'request-1' },
    });
    expect(sent).toHaveLength(1);
  });

  test('names the operations that hold a locked project', async () => {
    const answers = [
      Response.json({ operations: [OPERATION] }),
      Response.json({ message: 'the project is locked' }, { status: 423 }),
    ];
    const { send } = setUp(() => answers.shift() ?? Response.error());
    await send();

    const locked = await send({ requestId: 'request-2', idempotencyKey: undefined });

    expect(locked).toMatchObject({ kind: 'answered', answer: { status: 423 }, lockedBy: [OPERATION.id] });
  });

  test.each([
    ['key_malformed', { idempotencyKey: 'a key with spaces' }],
    ['key_reused', { ids: { project_id: PROJECT_ID, endpoint_id: 'ep-another-1' } }],
  ] as const)('is %s, and nothing is sent', async (kind, request) => {
    const { send, sent } = setUp(() => Response.json({ operations: [] }));
    await send();

    expect(await send(request)).toEqual({ kind });
    expect(sent).toHaveLength(1);
  });

  test('is unanswered when the connection breaks, and unknown for a repetition', async () => {
    const { send, sent } = setUp(() => {
      throw new TypeError('fetch failed');
    });

    expect(await send()).toMatchObject({ kind: 'unanswered', failure: { kind: 'network' } });
    expect(await send({ requestId: 'request-2' })).toEqual({ kind: 'outcome_unknown' });
    expect(sent).toHaveLength(1);
  });
});

test('nothing of the room knows HTTP on the side of the caller', () => {
  const room = join(import.meta.dirname, '../../shared/commands');
  const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const texts = files.map((file) => readFileSync(join(room, file), 'utf8'));

  expect(texts.length).toBeGreaterThan(5);
  for (const text of texts) expect(text).not.toMatch(/from 'hono|\bRequest\b|\bResponse\b|functions\//);
});
