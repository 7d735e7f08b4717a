/** Tests the small readers of a request: forms, preferred waits, and the parts of the rate limit. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseForm } from '../../functions/api/serving/read-request.ts';
import { preferredWaitMs } from '../../functions/api/serving/waiting.ts';
import { createFairShare } from '../../shared/commands/permits/fair-share.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createCommandUsage } from '../../shared/store/command-usage.ts';
import { undeclaredFields } from '../../shared/upstream/calls/call.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

describe('a form', () => {
  test('nests by brackets and is typed by what the call takes', () => {
    const form =
      'endpoint[branch_id]=br-a-1&endpoint[type]=read_write&endpoint[autoscaling_limit_min_cu]=0.25&endpoint[pooler_enabled]=true';

    expect(parseForm(form, calls.createEndpoint.body)).toEqual({
      endpoint: {
        branch_id: 'br-a-1',
        type: 'read_write',
        autoscaling_limit_min_cu: 0.25,
        pooler_enabled: true,
      },
    });
  });

  test('has lists by number', () => {
    const form =
      'auth_provider=stack&domains[0][domain]=https%3A%2F%2Fa.example&domains[1][domain]=https%3A%2F%2Fb.example';

    expect(parseForm(form, calls.deleteRedirectDomains.body)).toEqual({
      auth_provider: 'stack',
      domains: [{ domain: 'https://a.example' }, { domain: 'https://b.example' }],
    });
  });

  test('text stays text where text belongs, even when it looks like a number', () => {
    const form = 'project_id=p-1&auth_provider=stack&email=a%40b.example&name=12345';

    expect(parseForm(form, calls.createAuthUser.body)).toMatchObject({ name: '12345' });
  });

  /** A form of the call is taken when it fits the schema and has no field that the call does not declare. */
  function isTaken(form: string): boolean {
    const { body } = calls.updateOauthProvider;
    const value = parseForm(form, body);
    return body.safeParse(value).success && undeclaredFields(body, value).length === 0;
  }

  test('a field that stands there twice, and what is no number, is left for the call to refuse', () => {
    for (const form of [
      'client_id=a&client_id=b',
      'client_id[x]=a',
      'client_id=a&client_id[x]=b',
      '[client_id]=a',
      'client_id[=a',
      'a[b][c][d][e]=f',
      '=a',
    ])
      expect([form, isTaken(form)]).toEqual([form, false]);
    expect(
      calls.updateEmailServer.body.safeParse(
        parseForm('type=standard&port=1e3', calls.updateEmailServer.body),
      ).success,
    ).toBe(false);
  });

  test('never reaches a prototype, whatever its names are', () => {
    const name = fc.array(fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'a', '0'), {
      minLength: 1,
      maxLength: 4,
    });
    const fields = fc.array(fc.tuple(name, fc.string()), { maxLength: 5 });
    fc.assert(
      fc.property(fields, (pairs) => {
        const form = new URLSearchParams(
          pairs.map(([[first = '', ...rest], value]): [string, string] => [
            `${first}${rest.map((part) => `[${part}]`).join('')}`,
            value,
          ]),
        );
        parseForm(form.toString(), calls.createEndpoint.body);
        expect(Object.keys(Object.prototype)).toEqual([]);
        expect(({} as { a?: unknown }).a).toBeUndefined();
      }),
    );
  });
});

describe('patience', () => {
  test.each([
    [null, 5_000],
    ['wait=0', 0],
    ['wait=10', 10_000],
    ['WAIT = 7', 7_000],
    ['wait="3"', 3_000],
    ['respond-async, wait=4', 4_000],
    ['respond-async', 5_000],
    ['wait=999', 20_000],
  ])('of %j is %i milliseconds', (prefer, expected) => {
    expect(preferredWaitMs(prefer)).toBe(expected);
  });
});

/** Makes a clock on which nothing waits. The time is what the test says. */
const clockOf = (now: () => number) => ({ now, sleep: () => new Promise<void>(() => {}) });

const shareOf100 = (now: () => number, usage = createCommandUsage(createMemoryTable().as('api'), 'main')) =>
  createFairShare({
    clock: clockOf(now),
    requestsPerMinute: 100,
    callerRequestsPerMinute: 40,
    usage,
    telemetry: silentTelemetry,
    instancesMax: 1,
  });

describe('the parts of the rate limit', () => {
  test('no minute has more than the whole, and no caller more than its part, however they ask', async () => {
    const asks = fc.array(
      fc.record({ caller: fc.constantFrom('a', 'b', 'c', 'd'), afterMs: fc.integer({ min: 0, max: 400 }) }),
      { minLength: 300, maxLength: 900 },
    );
    await fc.assert(
      fc.asyncProperty(asks, async (list) => {
        let nowMs = 0;
        const share = shareOf100(() => nowMs);
        const admitted: { caller: string; atMs: number }[] = [];
        for (const { caller, afterMs } of list) {
          nowMs += afterMs;
          if ((await share.admit(caller, 0)) === 0) admitted.push({ caller, atMs: nowMs });
        }
        for (const { atMs } of admitted) {
          const minute = admitted.filter((each) => each.atMs >= atMs && each.atMs < atMs + 60_000);
          expect(minute.length).toBeLessThanOrEqual(100);
          for (const name of ['a', 'b', 'c', 'd'])
            expect(minute.filter(({ caller }) => caller === name).length).toBeLessThanOrEqual(40);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('a caller who waits for the given time is let in', async () => {
    let nowMs = 0;
    const share = shareOf100(() => nowMs);
    let delayMs = 0;
    while (delayMs === 0) delayMs = await share.admit('a', 0);

    nowMs += delayMs;

    expect(await share.admit('a', 0)).toBe(0);
  });

  test('a refusal by the upstream holds everybody back', async () => {
    let nowMs = 0;
    const share = shareOf100(() => nowMs);
    share.budget.pauseFor(10_000);

    expect(await share.admit('a', 0)).toBe(10_000);
    nowMs += 10_000;
    expect(await share.admit('a', 0)).toBe(0);
  });
});

describe('what is sent to the upstream', () => {
  function counted() {
    let nowMs = 0;
    let isDown = false;
    const notes: number[] = [];
    const kept = createCommandUsage(createMemoryTable().as('api'), 'main');
    const awayOr = async <T>(answer: () => Promise<T>): Promise<T> => {
      if (isDown) throw new Error('The table is away');
      return answer();
    };
    const share = shareOf100(() => nowMs, {
      note: (usage) =>
        awayOr(() => {
          notes.push(usage.requestCount);
          return kept.note(usage);
        }),
      noteAndAsk: (usage, asked) => awayOr(() => kept.noteAndAsk(usage, asked)),
    });
    const send = async (atMs: number, count: number, tableIsDown = false) => {
      nowMs = atMs;
      isDown = tableIsDown;
      for (let place = 0; place < count; place++) await share.budget.take();
      await share.idle();
    };
    return { notes, kept, send, share };
  }

  test('is counted at once, and what follows within a second together with what comes after it', async () => {
    const { notes, send } = counted();
    await send(0, 5);
    await send(999, 2);
    await send(1_000, 1);

    expect(notes).toEqual([1, 7]);
  });

  test('is counted later when the table is away', async () => {
    const { notes, send } = counted();
    await send(0, 3, true);
    await send(1_000, 1);

    expect(notes).toEqual([4]);
  });

  test('by others is spent here too, also after the table was away', async () => {
    const { kept, send, share } = counted();
    await send(0, 1);
    await send(1_000, 1, true);
    // Another process has used the whole minute.
    const whole = { nowMs: 1_000, intervalMs: 600, quietCount: 90, busyCount: 0, latestMs: 1_000 };
    await kept.noteAndAsk({ requestCount: 90, members: new Map(), window: 0 }, whole);
    await send(3_000, 1);

    // The requests that were sent here do not explain so long a pause.
    expect(await share.admit('a', 0)).toBeGreaterThan(10_000);
  });
});
