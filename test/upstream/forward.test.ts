/**
 * Tests passing calls on, with the simulated service as the upstream: a caller gets here what it would have got
 * there.
 */

import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../shared/runtime/clock.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { type CallId, calls } from '../../shared/upstream/calls/calls.ts';
import type { RequestParts } from '../../shared/upstream/forward.ts';
import { type ForwardedAnswer, forward } from '../../shared/upstream/forward.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { isUpstreamError } from '../../shared/upstream/upstream-error.ts';
import { cases } from '../conformance/cases.ts';
import { KEY, type Request, type Service, startService } from '../conformance/service-under-test.ts';

interface Passing {
  readonly patienceMs?: number;
  readonly key?: string;
  readonly onAttempt?: () => void;
}

/** Makes a clock on which no real time passes: it notes each sleep, and the service's time moves on instead. */
function clockOf(service: Service, sleptMs: number[]): Clock {
  let aheadMs = 0;
  return {
    now: () => systemClock.now() + aheadMs,
    async sleep(durationMs) {
      sleptMs.push(durationMs);
      aheadMs += durationMs;
      await service.pass(Math.ceil(durationMs));
    },
  };
}

async function pass(
  service: Service,
  id: CallId,
  request: Request,
  { patienceMs = 0, key = KEY, onAttempt = () => {} }: Passing = {},
) {
  const sleptMs: number[] = [];
  const clock = clockOf(service, sleptMs);
  const secret = createSecret(key);
  const deps = {
    base: new URL(service.baseUrl),
    apiKey: { current: async () => secret, refresh: async () => secret },
    clock,
    random: seededRandom(1),
    budget: createRequestBudget({ clock, requestsPerMinute: 700, burst: 40 }),
    onAttempt,
  };
  const ids = { project_id: service.projectId, endpoint_id: service.endpointId, ...request.ids };
  const { body, query } = request;
  const loose: RequestParts = { ids, query, ...(body === undefined ? {} : { body: body as object }) };
  const answer = await forward(deps, calls[id], loose, { patienceMs });
  return { answer, sleptMs };
}

const textOf = ({ body }: ForwardedAnswer) => new TextDecoder().decode(body);

const withoutRequestId = (text: string) => text.replace(/"request_id":"[^"]*"/, '');

const ids = Object.keys(calls) as CallId[];

describe('what is passed on', () => {
  test.each(ids)('%s: a success comes back as it is', async (id) => {
    const service = await startService();
    const { answer } = await pass(service, id, await cases[id].succeeds(service));

    expect(answer.status).toBe(calls[id].status);
    const text = textOf(answer);
    const body: unknown = text === '' ? undefined : JSON.parse(text);
    expect(calls[id].answer.safeParse(body).error).toBeUndefined();
  });

  const refusals = ids.flatMap((id) =>
    Object.entries(cases[id].refusals).map(([name, refusal]) => ({ id, name, ...refusal })),
  );
  test.each(refusals.filter(({ status }) => status !== 400))(
    '$id: $status to $name comes back as it is',
    async ({ id, status, when }) => {
      const service = await startService();
      const request = await when(service);
      const direct = await service.call(id, request);
      const { answer } = await pass(service, id, request);

      expect(answer.status).toBe(status);
      expect(withoutRequestId(textOf(answer))).toBe(withoutRequestId(direct.text));
      expect(answer.headers['content-type']).toBe(direct.headers.get('content-type'));
    },
  );

  test('also a page that is no JSON, with its own content type', async () => {
    const service = await startService();
    service.upstream.faults.htmlError = 1;
    const { answer } = await pass(service, 'listEndpoints', {});

    expect([answer.status, answer.headers['content-type']]).toEqual([524, 'text/html; charset=UTF-8']);
    expect(textOf(answer)).toContain('<html>');
  });
});

describe('what is not passed on', () => {
  test('a 401: it is about the key of the bridge, and the caller has another', async () => {
    const service = await startService();
    const error: unknown = await pass(service, 'listEndpoints', {}, { key: 'a-revoked-key' }).catch(
      (thrown: unknown) => thrown,
    );

    expect(isUpstreamError(error) && error.kind).toBe('unauthorized');
    expect(String(error)).not.toContain('a-revoked-key');
  });

  test('a broken connection, after which a mutation is not sent again', async () => {
    const service = await startService();
    service.upstream.faults.droppedConnection = 1;
    const before = service.upstream.world().groundTruth().length;
    const body = { endpoint: { branch_id: service.branchId, type: 'read_only' } };

    await expect(pass(service, 'createEndpoint', { body }, { patienceMs: 60_000 })).rejects.toMatchObject({
      kind: 'network',
    });
    expect(service.upstream.world().groundTruth().length - before).toBe(1);
  });
});

describe('what is not sent', () => {
  test('a field of another type; the error names the field and not its value', async () => {
    const service = await startService();
    const body = { endpoint: { suspend_timeout_seconds: 'canary-value' } };
    const error: unknown = await pass(service, 'updateEndpoint', { body }).catch((thrown: unknown) => thrown);

    expect(isUpstreamError(error) && [error.kind, error.status]).toEqual(['rejected', undefined]);
    expect(String(error)).toContain('PATCH /projects/{project_id}/endpoints/{endpoint_id}');
    expect(inspect(error)).not.toContain('canary-value');
  });

  test.each([
    ['..', 'ep-a'],
    ['a/b', 'ep-a'],
    ['%2e%2e', 'ep-a'],
    ['a-project', 'ep-../restart'],
    ['a-project', 'br-a'],
  ])('a call with the ids %s and %s', async (project_id, endpoint_id) => {
    const service = await startService();
    const call = pass(service, 'restartEndpoint', { ids: { project_id, endpoint_id } });

    await expect(call).rejects.toMatchObject({ kind: 'rejected', status: undefined });
  });
});

describe('a mutation that failed in an unknown way', () => {
  test('is not sent again, because it may have been carried out', async () => {
    const service = await startService();
    service.upstream.faults.internalError = 1;
    const before = service.upstream.world().groundTruth().length;
    const body = { endpoint: { branch_id: service.branchId, type: 'read_only' } };
    const { answer } = await pass(service, 'createEndpoint', { body }, { patienceMs: 60_000 });

    expect(answer.status).toBe(500);
    expect(service.upstream.world().groundTruth().length - before).toBe(1);
  });
});

describe('refusals without any work done', () => {
  const locked = async () => {
    const service = await startService();
    await service.control('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/connect`);
    return service;
  };

  test('are repeated until the patience of the caller ends, and not only four times', async () => {
    const service = await startService();
    Object.assign(service.upstream.faults, { unavailable: 1 });
    const { answer, sleptMs } = await pass(service, 'listProjects', {}, { patienceMs: 10_000 });
    const waitedMs = sleptMs.reduce((sum, each) => sum + each, 0);

    expect(answer.status).toBe(503);
    expect(waitedMs).toBeGreaterThan(7_000);
    expect(waitedMs).toBeLessThanOrEqual(10_000);
    expect(Math.max(...sleptMs)).toBeLessThanOrEqual(2_000);
  });

  test('are repeated while the caller is patient', async () => {
    const service = await locked();
    const { answer, sleptMs } = await pass(service, 'deleteEndpoint', {}, { patienceMs: 60_000 });

    expect(answer.status).toBe(200);
    expect(sleptMs.length).toBeGreaterThan(0);
  });

  test('of a mutation are repeated until the service is available again', async () => {
    const service = await startService();
    service.upstream.faults.unavailable = 1;
    const body = { endpoint: { suspend_timeout_seconds: 600 } };
    const heal = () => {
      service.upstream.faults.unavailable = 0;
    };
    const { answer } = await pass(
      service,
      'updateEndpoint',
      { body },
      { patienceMs: 60_000, onAttempt: heal },
    );

    expect(JSON.parse(textOf(answer)).endpoint.suspend_timeout_seconds).toBe(600);
  });

  test('come back at once to a caller without patience', async () => {
    const { answer, sleptMs } = await pass(await locked(), 'deleteEndpoint', {}, { patienceMs: 0 });

    expect([answer.status, sleptMs]).toEqual([423, []]);
  });

  test('never come back sooner than they asked, and at once when that is beyond patience', async () => {
    const service = await startService();
    Object.assign(service.upstream.faults, { rateLimited: 1, retryAfterSeconds: 7 });
    const patient = await pass(service, 'listEndpoints', {}, { patienceMs: 8_000 });
    expect(patient.sleptMs[0]).toBeGreaterThanOrEqual(7_000);

    const hasty = await pass(service, 'listEndpoints', {}, { patienceMs: 6_000 });
    expect(hasty.sleptMs).toEqual([]);
    expect([hasty.answer.status, hasty.answer.headers['retry-after']]).toEqual([429, '7']);
  });

  test('are told apart from a failure that may have worked', async () => {
    const service = await startService();
    service.upstream.faults.internalError = 1;
    const { answer, sleptMs } = await pass(service, 'deleteEndpoint', {}, { patienceMs: 60_000 });

    expect([answer.status, sleptMs]).toEqual([500, []]);
  });
});
