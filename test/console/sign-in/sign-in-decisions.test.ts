/** Tests what is decided about a sign-in without a provider: the settings, the claims, the roles, and the cookies. */

import { describe, expect, test } from 'vitest';
import {
  failureOf,
  openIdToken,
  openPending,
  sealIdToken,
  sealPending,
} from '../../../functions/api/console/sign-in/identity-provider.ts';
import {
  COOKIE_CHARACTERS_MAX,
  createRoleCallers,
  personOf,
  personSession,
} from '../../../functions/api/console/sign-in/session.ts';
import { SCOPE_BUNDLES } from '../../../shared/callers/scopes.ts';
import { signInSettings } from '../../../shared/config/api-config.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';

const GIVEN = {
  issuer: 'https://login.example.com/tenant',
  client_id: 'the-bridge',
  account_id: 'main',
  roles: [
    { value: 'admins', scopes: ['admin', 'audit:read'] },
    { value: 'blue', scopes: ['computes:*'], project_ids: ['blue-1'] },
  ],
};
const settings = signInSettings.parse(GIVEN);
const pepper = createSecret('a-pepper');

describe('the settings', () => {
  test.each([
    ['an issuer over http', { issuer: 'http://login.example.com' }, 'issuer'],
    ['an issuer that only looks like this machine', { issuer: 'http://127.0.0.1.evil.example' }, 'issuer'],
    ['an issuer that is no address', { issuer: 'login' }, 'issuer'],
    ['a console over http', { base_url: 'http://bridge.example.com' }, 'base_url'],
    ['no role', { roles: [] }, 'roles'],
    [
      'a scope that does not exist',
      { roles: [{ value: 'a', scopes: ['computes:fly'] }] },
      'roles.0.scopes.0',
    ],
    ['an empty list of projects', { roles: [{ ...GIVEN.roles[0], project_ids: [] }] }, 'roles.0.project_ids'],
    ['a request without openid', { request_scope: 'email openidx' }, 'request_scope'],
  ])('refuse %s by its name', (_name, change, path) => {
    const parsed = signInSettings.safeParse({ ...GIVEN, ...change });

    expect(parsed.error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
  });

  test.each(['http://127.0.0.1:8080', 'http://[::1]:1', 'http://localhost:9'])(
    'accept %s, on this machine',
    (issuer) => {
      expect(signInSettings.safeParse({ ...GIVEN, issuer }).success).toBe(true);
    },
  );
});

describe('the claims of a person', () => {
  test('name the person by subject and issuer, and find the first role of the settings', () => {
    expect(personOf({ sub: 'ada', groups: ['blue', 'admins'], email: 'ada@example.com' }, settings)).toEqual({
      kind: 'person',
      person: { client_id: 'oidc:login.example.com:ada', role: 'admins', email: 'ada@example.com' },
    });
  });

  test.each([
    ['no claim', {}, 'claim-missing'],
    ['a claim that is an object', { groups: { admins: true } }, 'claim-missing'],
    ['a claim that is a number', { groups: 1 }, 'claim-missing'],
    ['an empty list', { groups: [] }, 'no-role'],
    ['a value that begins like a role', { groups: ['admins2', 'admin'] }, 'no-role'],
    ['all values in one text', { groups: 'admins,blue' }, 'no-role'],
    ['a list in the list', { groups: [['admins']] }, 'no-role'],
  ])('with %s give no role', (_name, claims, kind) => {
    expect(personOf({ sub: 'ada', ...claims }, settings)).toEqual({ kind, name: 'ada' });
  });

  test('are not taken from the prototype of an object', () => {
    const byName = { ...settings, roles_claim: 'constructor' };

    expect(personOf({ sub: 'ada' }, byName)).toMatchObject({ kind: 'claim-missing' });
  });

  test.each([[undefined], [''], [' ada'], ['a\nb'], ['x'.repeat(256)], [7]])(
    'without a usable subject name no person: %j',
    (sub) => {
      expect(personOf({ sub, groups: ['admins'] }, settings)).toBeUndefined();
    },
  );

  test.each([
    ['no address'],
    ['<b>@example.com'],
    ['a b@example.com'],
    [`${'a'.repeat(300)}@example.com`],
    [7],
  ])('with %j as an address leave the address out', (email) => {
    const decision = personOf({ sub: 'ada', groups: ['admins'], email }, settings);

    expect(decision).toEqual({
      kind: 'person',
      person: { client_id: 'oidc:login.example.com:ada', role: 'admins' },
    });
  });
});

describe('a role', () => {
  const callerOf = createRoleCallers(settings);
  const person = { client_id: 'oidc:login.example.com:ada', role: 'blue' };

  test('allows its scopes, in its projects', () => {
    expect(callerOf(person)).toEqual({
      client_id: person.client_id,
      account_id: 'main',
      scopes: new Set(['computes:read', 'computes:write', 'computes:delete', 'computes:restart']),
      projectIds: new Set(['blue-1']),
    });
  });

  test('without projects is good for all of them, and a bundle stands for its scopes', () => {
    const caller = callerOf({ ...person, role: 'admins' });

    expect(caller?.projectIds).toBeUndefined();
    expect([...(caller?.scopes ?? [])]).toEqual([...new Set([...SCOPE_BUNDLES.admin.scopes, 'audit:read'])]);
  });

  test('that the settings do not have any more allows nothing', () => {
    expect(callerOf({ ...person, role: 'former' })).toBeUndefined();
    expect(createRoleCallers(undefined)(person)).toBeUndefined();
  });

  test('that stands twice in the settings is the first of the two', () => {
    const first = { value: 'blue', scopes: ['operations:read'] };
    const twice = signInSettings.parse({ ...GIVEN, roles: [first, ...GIVEN.roles] });

    expect([...(createRoleCallers(twice)(person)?.scopes ?? [])]).toEqual(['operations:read']);
  });
});

test('the session of a person lasts an hour', () => {
  const person = { client_id: 'oidc:login.example.com:ada', role: 'blue' };

  expect(personSession(person, 'an-id', 1_000)).toEqual({ id: 'an-id', person, ends_at_ms: 3_601_000 });
});

describe('a sign-in that has begun', () => {
  const pending = { id: 'p', state: 's', nonce: 'n', verifier: 'v', next: '/console', ends_at_ms: 1_000 };
  const sealed = sealPending(pending, pepper);

  test('is opened by the bridge until its time is over', () => {
    expect(openPending(sealed, pepper, 999)).toEqual(pending);
    expect(openPending(sealed, pepper, 1_000)).toBeUndefined();
  });

  test('cannot be read, changed, made up or taken from another cookie', () => {
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toMatch(/console|verifier/);
    expect(openPending(sealed, createSecret('another'), 0)).toBeUndefined();
    for (const forged of [
      '',
      'x',
      sealed.slice(0, -4),
      `A${sealed.slice(1)}`,
      sealIdToken('{}', pepper) ?? '',
    ])
      expect(openPending(forged, pepper, 0)).toBeUndefined();
  });
});

describe('an ID token', () => {
  test('is kept sealed', () => {
    const sealed = sealIdToken('eyJ.a.b', pepper);

    expect(sealed).not.toContain('eyJ');
    expect(openIdToken(sealed, pepper)).toBe('eyJ.a.b');
    expect(openIdToken(undefined, pepper)).toBeUndefined();
  });

  test('that would not fit into a cookie is not kept', () => {
    const fitting = (COOKIE_CHARACTERS_MAX * 3) / 4 - 28;

    expect(sealIdToken('x'.repeat(fitting), pepper)).toHaveLength(COOKIE_CHARACTERS_MAX);
    expect(sealIdToken('x'.repeat(fitting + 1), pepper)).toBeUndefined();
  });
});

describe('a failure of the client library', () => {
  const withCode = (code: string, error?: string) => Object.assign(new Error('x'), { code, error });

  test.each([
    ['no answer in time', withCode('OAUTH_TIMEOUT'), 'unavailable', 'OAUTH_TIMEOUT'],
    ['another status than a success', withCode('OAUTH_RESPONSE_IS_NOT_CONFORM'), 'unavailable', undefined],
    ['no connection', new TypeError('fetch failed'), 'unavailable', 'no_connection'],
    ['no connection, wrapped', new Error('x', { cause: new TypeError('y') }), 'unavailable', 'no_connection'],
    [
      'a cancelled sign-in',
      withCode('OAUTH_AUTHORIZATION_RESPONSE_ERROR', 'access_denied'),
      'declined',
      undefined,
    ],
    ['a refusal', withCode('OAUTH_AUTHORIZATION_RESPONSE_ERROR', 'server_error'), 'refused', 'server_error'],
    ['a used code', withCode('OAUTH_RESPONSE_BODY_ERROR', 'invalid_grant'), 'refused', 'invalid_grant'],
    ['a wrong nonce', withCode('OAUTH_JWT_CLAIM_COMPARISON_FAILED'), 'untrusted', undefined],
    ['anything else', new Error('x'), 'untrusted', 'an_unknown_code'],
  ])('for %s becomes a kind that a page explains', (_name, thrown, kind, detail) => {
    expect(failureOf(thrown)).toMatchObject({ kind, ...(detail && { detail }) });
  });

  test('keeps no text that came with the browser or from the provider', () => {
    const thrown = withCode('OAUTH_AUTHORIZATION_RESPONSE_ERROR', 'a code that says <script>');

    const failure = failureOf(thrown);

    expect([failure.detail, failure.cause]).toEqual(['an_unknown_code', undefined]);
    expect(failure.message).not.toContain('script');
  });
});
