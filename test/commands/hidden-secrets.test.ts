/** Tests what a read leaves out for a caller without the scope for secrets. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { readJson, withoutSecrets } from '../../shared/commands/json-text.ts';
import { createApiUnderTest } from '../api/api-under-test.ts';
import { PROJECT_ID } from '../api/sample-requests.ts';
import { createUpstreamDouble } from '../api/upstream-double.ts';

const CANARY = 'canary0123456789';

const BY_NAME: readonly (readonly [string, string])[] = [
  ['a field', `{"password":"${CANARY}"}`],
  ['a list', `{"passwords":["${CANARY}",["${CANARY}"]]}`],
  ['an object', `{"client_secret":{"value":"${CANARY}","of":[{"x":"${CANARY}"}]}}`],
  ['an escaped name', `{"pass\\u0077ord":"${CANARY}"}`],
  ['capitals', `{"PASSWORD":"${CANARY}"}`],
  ['camel case', `{"clientSecret":"${CANARY}"}`],
  ['dashes', `{"client-secret":"${CANARY}"}`],
  ['another word before', `{"smtp_password":"${CANARY}"}`],
  ['a short word', `{"pwd":"${CANARY}"}`],
  ['a short word with another one before', `{"db_pwd":"${CANARY}","DB-PWD":"${CANARY}","dbPwd":"${CANARY}"}`],
  ['another word after', `{"password_again":"${CANARY}"}`],
  ['an API key', `{"api_key":"${CANARY}"}`],
  ['a server key', `{"secret_server_key":"${CANARY}"}`],
  ['a connection URI', `{"connection_uri":"postgres://u:${CANARY}@h/db"}`],
  ['a name that stands there twice', `{"password":"${CANARY}","password":""}`],
  ['a list at the top', `[{"password":"${CANARY}"}]`],
  ['a refresh token', `{"refreshToken":"${CANARY}"}`],
  ['credentials', `{"credentials":{"user":"u","key":"${CANARY}"}}`],
  ['a list of credentials', `{"credentials":["${CANARY}",{"name":"n"}]}`],
  ['a credential of a list', `{"credentials":[{"name":"n","secret":"${CANARY}"}]}`],
  ['credentials below a secret', `{"secret":{"credentials":[{"name":"${CANARY}"}]}}`],
  ['a password of a sign-in', `{"email_and_password":{"enabled":true,"password":"${CANARY}"}}`],
  ['a sign-in that is a text', `{"email_and_password":"${CANARY}"}`],
];

const BY_SHAPE: readonly (readonly [string, string])[] = [
  ['a connection string', `{"uri":"postgresql://user:${CANARY}@host:5432/db?sslmode=require"}`],
  ['an escaped connection string', `{"uri":"postgresql:\\/\\/user:${CANARY}@host\\/db"}`],
  ['a connection string in a list', `{"uris":[["redis://:${CANARY}@host"]]}`],
  ['a key and value pair', `{"text":"host=h user=u password=${CANARY} dbname=d"}`],
  ['a query', `{"text":"https://h/x?a=b&password=${CANARY}"}`],
  ['a private key', `{"text":"-----BEGIN RSA PRIVATE KEY-----\\n${CANARY}\\n-----END RSA PRIVATE KEY-----"}`],
  ['half a private key', `{"text":"-----BEGIN PRIVATE KEY-----\\n${CANARY}"}`],
  ['a JSON Web Token', `{"text":"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${CANARY}"}`],
  ['a key with a prefix', `{"text":"napi_${CANARY}"}`],
  ['a name of a field', `{"postgres://u:${CANARY}@h":1}`],
  ['plain text', `postgres://u:${CANARY}@host/db`],
  ['HTML', `<p>postgres://u:${CANARY}@host/db</p>`],
];

describe('a secret is left out', () => {
  test.each([...BY_NAME, ...BY_SHAPE])('in %s', (_name, text) => {
    const shown = withoutSecrets(text);

    expect(shown).toBeDefined();
    expect(shown).not.toContain(CANARY);
    if (text.startsWith('{') || text.startsWith('['))
      expect(() => JSON.parse(shown ?? '') as unknown).not.toThrow();
  });

  test('and an answer that is too deep to look through is not shown at all', () => {
    expect(withoutSecrets(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toBeUndefined();
  });
});

describe('nothing else is left out', () => {
  test.each([
    '{"passwordless_access":true,"password_updated_at":"2026-01-15T12:00:00Z"}',
    '{"pagination":{"cursor":"a-token"},"keys":[{"id":1,"name":"x","last_used_at":null}]}',
    '{"jwks_url":"https://api.example/v1/.well-known/jwks.json","pub_client_key":"pck_1"}',
    '{"credentials":[{"token_id":"nak_live_0123456789abcdef0123456789abcdef","name":"ci","scopes":["storage:read"],"principal_type":"service"}]}',
    '{"email_and_password":{"enabled":true,"email_verification_method":"otp"}}',
    '{ "big" : 12345678901234567890, "space": "kept" }',
    '{"time":"10:20:30@home","url":"https://host/path:with@signs"}',
    '{"a":"\\"b\\": c","d":{}}',
    '',
    'plain words',
  ])('of %j, byte by byte', (text) => expect(withoutSecrets(text)).toBe(text));
});

const space = fc.constantFrom('', ' ', '\n  ', '\t');
const escaped = (name: string) =>
  fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }).map((isEscaped) =>
    name
      .split('')
      .map((letter, place) =>
        isEscaped[place] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
      )
      .join(''),
  );
const secretName = fc.constantFrom('password', 'clientSecret', 'API_KEY', 'connection-uri').chain(escaped);
const plainName = fc.constantFrom('id', 'name', 'd\u00e9', '', '__proto__').chain(escaped);
const plainValue = fc.oneof(
  fc.constantFrom('12345678901234567890', '1.0', '-0', '1e400', 'true', 'null', '""', '"a\\"b"', '"\\ud83d"'),
  fc.string().map((text) => JSON.stringify(text.replaceAll(/\W/g, ' '))),
);

/** A text of JSON, written in every way in which it can be, whose secrets are marked by the canary. */
const { value: jsonText } = fc.letrec<{ value: string; secret: string }>((tie) => {
  const list = (item: fc.Arbitrary<string>, [open, close]: readonly [string, string]) =>
    fc
      .tuple(fc.array(fc.tuple(space, item, space), { maxLength: 4 }), space)
      .map(([items, gap]) => `${open}${items.map((each) => each.join('')).join(',')}${gap}${close}`);
  const member = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>) =>
    fc.tuple(name, space, space, value).map(([n, before, behind, v]) => `"${n}"${before}:${behind}${v}`);
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      list(
        fc.oneof(member(plainName, fc.oneof(plainValue, tie('value'))), member(secretName, tie('secret'))),
        ['{', '}'],
      ),
      list(fc.oneof(plainValue, tie('value')), ['[', ']']),
    ),
    secret: fc.oneof(
      { depthSize: 'small' },
      fc.constant(`"${CANARY}"`),
      list(tie('secret'), ['[', ']']),
      list(member(plainName, tie('secret')), ['{', '}']),
    ),
  };
});

describe('of any JSON', () => {
  test('what is hidden is cut out, and all other bytes stay', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(withoutSecrets(text)).toBe(text.replaceAll(CANARY, ''));
      }),
      { numRuns: 1_000 },
    );
  });

  test('a part is not shown, because what it would say is unknown', () => {
    fc.assert(
      fc.property(jsonText, fc.nat(), (text, place) => {
        expect(withoutSecrets(text.slice(0, 1 + (place % (text.length - 1))))).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  test('just that is read which JSON.parse reads, also when a character is lost or put in', () => {
    const isJson = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(
        jsonText,
        fc.nat(),
        fc.constantFrom('', '"', '\\', ',', ':', '}', '0', '\n', 'x'),
        (text, at, by) => {
          const place = at % text.length;
          const changed = text.slice(0, place) + by + text.slice(place + 1);
          expect(readJson(changed)?.length === 1).toBe(isJson(changed));
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test('several values with white space between them are one text', () => {
    expect(withoutSecrets(`{"a":1}\n{"password":"${CANARY}"}\n`)).toBe('{"a":1}\n{"password":""}\n');
  });
});

describe('the bytes of an answer', () => {
  const read = async (body: string, path: string, token: object) => {
    const upstream = createUpstreamDouble(
      () => new Response(body, { headers: { 'content-type': 'application/json' } }),
    );
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'the-key-of-the-account',
      fetch: upstream.fetch,
    });
    const headers = { authorization: `Bearer ${await api.issueToken(token)}` };
    return (await api.app.request(`/api/v2${path}`, { headers })).text();
  };
  const NUMBERS = '"n":12345678901234567890, "f":1.0, "dup":1,"dup":2';

  test('reach a token without the scope for secrets as the upstream wrote them', async () => {
    const body = `{ "regions" : [ ],${NUMBERS}}`;

    expect(await read(body, '/regions', { scopes: ['regions:read'] })).toBe(body);
  });

  test('of its own projects reach a token that is limited to them', async () => {
    const own = `{ "id":"${PROJECT_ID}" , ${NUMBERS}}`;
    const twice = `{"id":"${PROJECT_ID}","id":"another-project-00000001"}`;
    const body = `{"projects":[${own}, ${twice},{"id":"another-project-00000001"}],"applications":{"another-project-00000001":[]}}`;

    const token = { scopes: ['projects:read'], project_ids: [PROJECT_ID] };
    expect(await read(body, '/projects', token)).toBe(`{"projects":[${own}]}`);
  });
});

describe.each([200, 201, 202, 203, 206, 404, 500])('an answer with the status %i', (status) => {
  test('shows its secrets only to a caller with the scope for them', async () => {
    const body = { password: CANARY, uri: `postgres://u:${CANARY}@h/db` };
    const upstream = createUpstreamDouble(() => Response.json(body, { status }));
    const api = createApiUnderTest({
      upstreamBaseUrl: 'https://upstream.example/api/v2',
      upstreamKey: 'the-key-of-the-account',
      fetch: upstream.fetch,
    });
    const read = async (scopes: readonly (typeof SCOPES)[number][]) => {
      const authorization = `Bearer ${await api.issueToken({ scopes })}`;
      const path = `/api/v2/projects/${PROJECT_ID}/auth/email_server`;
      return (await api.app.request(path, { headers: { authorization } })).text();
    };

    expect(await read(SCOPES)).toBe(JSON.stringify(body));
    expect(await read(SCOPES.filter((scope) => scope !== 'secrets:read'))).toBe(
      '{"password":"","uri":"postgres://u:@h/db"}',
    );
  });
});
