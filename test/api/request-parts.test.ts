/** Tests the small readers of a request: forms, preferred waits, and the parts of the rate limit. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseForm } from '../../functions/api/serving/read-request.ts';
import { preferredWaitMs } from '../../functions/api/serving/waiting.ts';
import { undeclaredFields } from '../../shared/upstream/calls/call.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';

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
