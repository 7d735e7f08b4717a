import { describe, expect, test } from 'vitest';
import { ACCESS, type Role } from '../../infra/aws/resources/bridge-function.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import {
  answeringSelfTests,
  isSelfTestRequest,
  publishProbe,
  runSelfTest,
  tableProbes,
} from '../../shared/runtime/self-test.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const ROLES = Object.keys(ACCESS) as Role[];

describe('the probes of the table', () => {
  test.each(ROLES)('of %s stay within its role, name every attribute, and write nothing', async (role) => {
    const table = createMemoryTable();
    const access = ACCESS[role];
    const probes = tableProbes(table.as(role), access);
    const { results } = await runSelfTest({ name: role, probes, untried: [] });

    expect(results.filter(({ outcome }) => outcome !== 'allowed')).toEqual([]);
    expect(results).toHaveLength(
      Object.keys(access.reads).length + access.readsMany.length + Object.keys(access.updates).length,
    );
    expect(table.sync.items()).toEqual([]);
  });

  test.each(ROLES.filter((role) => role !== 'api'))('of the API do not fit the role of %s', async (role) => {
    const probes = tableProbes(createMemoryTable().as(role), ACCESS.api);
    const { results } = await runSelfTest({ name: 'api', probes, untried: [] });

    expect(results.filter(({ outcome }) => outcome !== 'allowed').length).toBeGreaterThan(0);
  });
});

describe('a self-test', () => {
  const resultOf = async (attempt: () => Promise<unknown>) => {
    const { results } = await runSelfTest({
      name: 'api',
      probes: [{ call: 'a call', attempt }],
      untried: [],
    });
    return results[0];
  };

  test.each([
    ['AccessDeniedException', 'denied', 'AccessDeniedException: the words of AWS'],
    ['AuthorizationErrorException', 'denied', 'AuthorizationErrorException: the words of AWS'],
    ['ValidationException', 'failed', 'ValidationException'],
  ])('takes %s for a call that %s', async (name, outcome, reason) => {
    const error = Object.assign(new Error('the words of AWS'), { name });

    expect(await resultOf(() => Promise.reject(error))).toEqual({ call: 'a call', outcome, reason });
  });

  test('quotes an error of the bridge, and cuts what is long', async () => {
    const error = new AppError('secret_empty', 'x'.repeat(1_000));
    const result = await resultOf(() => Promise.reject(error));

    expect(result?.reason).toMatch(/^secret_empty: x+$/);
    expect(result?.reason).toHaveLength(600);
  });

  test('reports the code with which the bus refuses the event', async () => {
    const denied = { kind: 'retry', code: 'AccessDeniedException' } as const;
    const sources: string[] = [];
    const bus = {
      publish: async (events: readonly { readonly source: string }[]) => {
        sources.push(...events.map(({ source }) => source));
        return [denied];
      },
    };

    expect(await resultOf(() => publishProbe(bus, 0, 'an-id').attempt())).toMatchObject({
      outcome: 'denied',
    });
    expect(sources).toEqual(['operations-bridge.test']);
  });
});

describe('a request for a self-test', () => {
  test.each([
    [{ self_test: true }, true],
    [{ self_test: true, account_id: 'main' }, true],
    [{ self_test: 'true' }, false],
    [{}, false],
    [null, false],
    ['self_test', false],
    [{ self_test: true, requestContext: {} }, false],
    [{ self_test: true, Records: [] }, false],
    [{ self_test: true, 'detail-type': 'x', detail: {} }, false],
  ])('%j: %s', (event, isOne) => {
    expect(isSelfTestRequest(event)).toBe(isOne);
  });

  test('is answered by the self-test, and every other event by the function itself', async () => {
    const handler = answeringSelfTests(
      async (event: unknown, context: string) => ({ event, context }),
      () => ({ name: 'api', probes: [], untried: [] }),
    );

    expect(await handler({ self_test: true }, 'c')).toEqual({ self_test: 'api', results: [], untried: [] });
    expect(await handler({ Records: [] }, 'c')).toEqual({ event: { Records: [] }, context: 'c' });
  });
});
