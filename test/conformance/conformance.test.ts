import { describe, expect, test } from 'vitest';
import type { Call } from '../../shared/upstream/calls/call.ts';
import { type CallId, calls } from '../../shared/upstream/calls/calls.ts';
import { cases } from './cases.ts';
import { type Answer, DOOR, startService } from './service-under-test.ts';

const ids = Object.keys(calls) as CallId[];
const table = ids.map((id) => ({ id, call: calls[id] as Call, ...cases[id] }));
const refusals = table.flatMap(({ id, refusals: named }) =>
  Object.entries(named).map(([name, refusal]) => ({ id, name, ...refusal })),
);

test('the table of calls has the 24 calls of the specification', () => {
  expect(ids).toHaveLength(24);
});

describe.each(table)('$id', ({ id, call, succeeds }) => {
  test(`answers ${call.status} and a body of the specified form`, async () => {
    const service = await startService();
    const request = await succeeds(service);

    const { status, body, text, headers } = await service.call(id, request);

    expect({ status, text }).toEqual({ status: call.status, text });
    expect(call.answer.safeParse(body).error).toBeUndefined();
    expect(text === '').toBe(body === undefined);
    expect(headers.get('x-request-id')).not.toBeNull();
  });

  test.each([
    ['no key', undefined],
    ['a wrong key', 'another-key'],
  ])('answers 401 to %s', async (_name, key) => {
    const service = await startService();
    const request = await succeeds(service);

    const { status, body } = await service.call(id, { ...request, key });

    expect(status).toBe(401);
    const message = 'supplied credentials do not pass authentication';
    expect(body).toMatchObject({ code: '', message: DOOR === 'bridge' ? expect.any(String) : message });
  });
});

test.each(refusals)('$id answers $status to $name', async ({ id, status, when }) => {
  const service = await startService();

  const answer = await service.call(id, await when(service));

  const refusal = { request_id: answer.headers.get('x-request-id'), code: '', message: expect.any(String) };
  expect(answer.status).toBe(status);
  // The bridge's own refusals have the members that clients of the service read, and those of a problem document.
  if (DOOR === 'bridge' && status === 400 && isProblem(answer)) expect(answer.body).toMatchObject(refusal);
  else expect(answer.body).toEqual(refusal);
});

function isProblem({ headers }: Answer): boolean {
  return headers.get('content-type') === 'application/problem+json';
}
