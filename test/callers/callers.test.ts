import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { authorize, type Caller, SCOPES } from '../../shared/callers/scopes.ts';
import { isSameHash, mintToken, tokenHash, tokenIdOf } from '../../shared/callers/tokens.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';

const pepper = createSecret('a-pepper');

describe('a bridge token', () => {
  test('names its record, never prints, and is another one every time', () => {
    const { id, token } = mintToken(randomBytes);
    expect(tokenIdOf(token.reveal())).toBe(id);
    expect(inspect({ token })).not.toContain(id);
    expect(mintToken(randomBytes).token.reveal()).not.toBe(token.reveal());
  });

  test('with any one character changed, added or gone is none', () => {
    const text = mintToken(randomBytes).token.reveal();
    fc.assert(
      fc.property(
        fc.nat({ max: text.length - 1 }),
        fc.constantFrom('0', '1', '9', 'a', 'f', 'g', '_', 'Z', ' '),
        (place, character) => {
          fc.pre(text[place] !== character);
          const changed = text.slice(0, place) + character + text.slice(place + 1);
          const longer = text.slice(0, place) + character + text.slice(place);
          const shorter = text.slice(0, place) + text.slice(place + 1);
          for (const other of [changed, longer, shorter]) expect(tokenIdOf(other)).toBeUndefined();
        },
      ),
    );
  });

  test.each([
    '',
    'opb_',
    'Bearer x',
    `opb_${'0'.repeat(18)}_${'0'.repeat(64)}_00000000`,
    'x'.repeat(100_000),
  ])('is not found in %j', (text) => {
    expect(tokenIdOf(text)).toBeUndefined();
  });

  test('is stored as a hash that only the pepper can make again', () => {
    const text = mintToken(randomBytes).token.reveal();
    const hash = tokenHash(text, pepper);

    expect(isSameHash(tokenHash(text, pepper), hash)).toBe(true);
    expect(isSameHash(tokenHash(text, createSecret('another-pepper')), hash)).toBe(false);
    expect(isSameHash(tokenHash(`${text}0`, pepper), hash)).toBe(false);
    expect(isSameHash('', '')).toBe(false);
    expect(hash).not.toContain(text.slice(4, 22));
  });
});

describe('a caller', () => {
  const ids = Object.keys(calls) as (keyof typeof calls)[];
  const caller = (fields: Partial<Caller>): Caller => ({
    client_id: 'an-app',
    account_id: 'main',
    scopes: new Set(),
    projectIds: new Set(['a-project']),
    ...fields,
  });

  test.each(ids)('without scopes must not send %s, and learns which scope is missing', (id) => {
    const scope = calls[id].scope;

    expect(authorize(caller({}), scope, 'a-project')).toEqual({ kind: 'scope_missing', scope });
  });

  test.each(ids)('with every scope but its own must not send %s', (id) => {
    const others = new Set(SCOPES.filter((scope) => scope !== calls[id].scope));

    expect(authorize(caller({ scopes: others }), calls[id].scope, 'a-project').kind).toBe('scope_missing');
  });

  test.each(ids)('with its scope may send %s for its project, and sees no other', (id) => {
    const allowed = caller({ scopes: new Set([calls[id].scope]) });

    expect(authorize(allowed, calls[id].scope, 'a-project')).toEqual({ kind: 'allowed' });
    expect(authorize(allowed, calls[id].scope, 'another-project')).toEqual({ kind: 'project_hidden' });
  });

  test('without a list of projects sees all of them', () => {
    const everywhere = caller({ scopes: new Set(['computes:read']), projectIds: undefined });

    expect(authorize(everywhere, 'computes:read', 'any-project')).toEqual({ kind: 'allowed' });
  });

  test('with an empty list sees none', () => {
    const nowhere = caller({ scopes: new Set(['computes:read']), projectIds: new Set() });

    expect(authorize(nowhere, 'computes:read', 'any-project')).toEqual({ kind: 'project_hidden' });
  });
});
