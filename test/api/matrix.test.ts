/**
 * Tests who may call what, as one table: kinds of token by routes by methods by what the request is about. It is made
 * from the table of routes, so a new route is in it without a line of code, and what is expected is computed here
 * from what the route says of itself.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../functions/api/serving/route.ts';
import { createAccountStore } from '../../shared/accounts/account-store.ts';
import { SCOPES, type Scope } from '../../shared/callers/scopes.ts';
import { createTokenStore, tokenIdOf } from '../../shared/callers/tokens.ts';
import { anAccount } from '../accounts/an-account.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { type ApiUnderTest, createApiUnderTest } from './api-under-test.ts';
import { hastyClock } from './passing-clock.ts';
import { initOf, OTHER_PROJECT_ID, PROJECT_ID, sampleOf } from './sample-requests.ts';
import { createUpstreamDouble } from './upstream-double.ts';

const accountWide = [
  { id: 'listThings', method: 'GET', path: '/things', summary: 'List things', scope: 'secrets:read' },
  {
    id: 'copyProject',
    method: 'POST',
    path: '/projects/{project_id}/copy',
    summary: 'Copy a project',
    scope: 'computes:write',
    body: 'json',
  },
] as const;

const upstream = createUpstreamDouble(() => Response.json({ projects: [] }));
const clock = hastyClock(2_000);
const api: ApiUnderTest = createApiUnderTest({
  upstreamBaseUrl: 'https://upstream.example/api/v2',
  upstreamKey: 'the-key-of-the-account',
  fetch: upstream.fetch,
  clock,
  extraRoutes: accountWide,
  rules: { upstreamHosts: ['upstream.example'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
});

/** The accounts of tokens that have had a life of their own. The tokens are made while the account is served. */
const accountStore = createAccountStore(api.memory, createMemoryPartitions(api.memory), {
  clock,
  newId: () => String(clock.now()),
});
const changed_by = 'an-admin';

async function addAccount(account_id: string): Promise<void> {
  const settings = anAccount({ account_id, upstream_base_url: 'https://upstream.example/api/v2' });
  await accountStore.add({ account_id, state: 'active', settings, changed_by });
}

async function changeAccount(account_id: string, state: 'paused' | 'removed'): Promise<void> {
  const found = await accountStore.get(account_id);
  if (found !== undefined && found.state !== state) await accountStore.change(found, { state, changed_by });
}

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'] as const;

type Needs = 'its scope' | 'all others' | 'every scope';
type Projects = 'all' | 'its own' | 'none';

interface Kind {
  readonly name: string;
  /** Without scopes, the credentials identify no caller. */
  readonly scopes?: Needs;
  readonly projects?: Projects;
  readonly isGood: boolean;
  /** The account of the token is not the configured one. */
  readonly account?: 'removed' | 'added-again' | 'paused';
  readonly change?: (token: string) => Promise<string>;
}

const known = (['its scope', 'all others', 'every scope'] as const).flatMap((scopes) =>
  (['all', 'its own', 'none'] as const).map(
    (projects): Kind => ({
      name: `a token with ${scopes} for ${projects} of the projects`,
      scopes,
      projects,
      isGood: true,
    }),
  ),
);

const bad: readonly Kind[] = [
  { name: 'nobody', isGood: false },
  {
    name: 'a mistyped token',
    scopes: 'every scope',
    projects: 'all',
    isGood: false,
    change: async (token) => token.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  },
  {
    name: 'a revoked token',
    scopes: 'every scope',
    projects: 'all',
    isGood: false,
    async change(token) {
      await createTokenStore(api.memory, clock).revoke(tokenIdOf(token) ?? '');
      return token;
    },
  },
  {
    name: "the upstream's own key",
    scopes: 'every scope',
    projects: 'all',
    isGood: false,
    change: async () => 'the-key-of-the-account',
  },
];

const lives: readonly Kind[] = [
  {
    name: 'a token of a removed account',
    scopes: 'every scope',
    projects: 'all',
    isGood: false,
    account: 'removed',
    async change(token) {
      await changeAccount('removed', 'removed');
      return token;
    },
  },
  {
    name: 'a token of an account whose id was given to another one',
    scopes: 'every scope',
    projects: 'all',
    isGood: false,
    account: 'added-again',
    async change(token) {
      await changeAccount('added-again', 'removed');
      await addAccount('added-again');
      return token;
    },
  },
  {
    name: 'a token of a paused account',
    scopes: 'every scope',
    projects: 'all',
    isGood: true,
    account: 'paused',
    async change(token) {
      await changeAccount('paused', 'paused');
      return token;
    },
  },
];

const kinds = [...known, ...bad, ...lives];
const subjects = [PROJECT_ID, OTHER_PROJECT_ID] as const;
type Subject = (typeof subjects)[number];

const scopeOf = ({ access }: Route): readonly Scope[] => SCOPES.filter((scope) => scope === access);

function scopesOf(route: Route, scopes: Needs): readonly Scope[] {
  const needed = scopeOf(route);
  if (scopes === 'every scope') return SCOPES;
  return scopes === 'its scope' ? needed : SCOPES.filter((scope) => !needed.includes(scope));
}

/** Returns whether the request names a project in its path, or in its body where the call is about that. */
function isAbout(route: Route): boolean {
  return (
    route.path.includes('{project_id}') ||
    route.reach === 'named_project' ||
    route.reach === 'listed_projects'
  );
}

/** Derives the expected status from the rules alone: who, which scope, which project, how far the call reaches. */
function expectedOf(route: Route, kind: Kind, subject: Subject): number | 'let in' | 'refused while paused' {
  if (route.access === 'public') return 'let in';
  if (!kind.isGood) return 401;
  if (kind.account === 'paused' && isBeyondThePaused(route)) return 'refused while paused';
  const { scopes = 'every scope', projects = 'all' } = kind;
  if (scopeOf(route).some((scope) => !scopesOf(route, scopes).includes(scope))) return 403;
  const mayNot = projects === 'none' || (projects === 'its own' && subject === OTHER_PROJECT_ID);
  if (route.path.includes('{project_id}') && mayNot) return 404;
  if (projects !== 'all' && route.isAccountWide === true) return 403;
  if (projects !== 'all' && route.group === 'Upstream API' && (route.reach ?? 'account') === 'account')
    return 403;
  return isAbout(route) && mayNot ? 404 : 'let in';
}

/** A paused account sends nothing to the upstream, publishes no test event, and changes no other account. */
function isBeyondThePaused({ group, access }: Route): boolean {
  return group === 'Upstream API' || access === 'accounts:write' || access === 'events:trigger';
}

const tokens = new Map<string, Promise<string | undefined>>();

function tokenOf(route: Route, kind: Kind): Promise<string | undefined> {
  const name = `${kind.name} ${route.access}`;
  const made = tokens.get(name) ?? makeToken(route, kind);
  tokens.set(name, made);
  return made;
}

async function makeToken(
  route: Route,
  { scopes, projects, account, change }: Kind,
): Promise<string | undefined> {
  if (scopes === undefined) return undefined;
  const own = projects === 'its own' ? [PROJECT_ID] : [];
  if (account !== undefined) await addAccount(account);
  const token = await api.issueToken({
    ...(account !== undefined && { account_id: account }),
    client_id: `client-${tokens.size}`,
    scopes: scopesOf(route, scopes),
    validForMs: 7e9,
    ...(projects !== 'all' && { project_ids: own }),
  });
  return change === undefined ? token : change(token);
}

interface Cell {
  readonly route: Route;
  readonly kind: Kind;
  readonly subject: Subject;
}

const routes = await api.routes();

const cells: readonly Cell[] = routes.flatMap((route) =>
  kinds.flatMap((kind) => subjects.map((subject) => ({ route, kind, subject }))),
);

async function ask({ route, kind, subject }: Cell, method: string = route.method) {
  upstream.sent.length = 0;
  const token = await tokenOf(route, kind);
  const sample = sampleOf(route, subject);
  const asked = initOf(
    { ...sample, method, body: method === route.method ? sample.body : undefined },
    {
      prefer: 'wait=0',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  );
  const response = await api.app.request(sample.path, asked);
  return { status: response.status, sentCount: upstream.sent.length };
}

describe('the matrix', () => {
  test('has at least a thousand cells, and stored and extra calls, limited and unlimited callers', () => {
    expect(cells.length).toBeGreaterThanOrEqual(1_000);
    expect(new Set(cells.map(({ route }) => route.group)).size).toBe(3);
    expect(cells.filter(({ route }) => route.reach === 'account').length).toBeGreaterThan(0);
  });

  test.each(routes.map((route) => ({ id: route.id, route })))(
    '$id lets in whom its own words let in, and nobody else reaches the upstream',
    async ({ route }) => {
      for (const cell of cells.filter((each) => each.route === route)) {
        const expected = expectedOf(route, cell.kind, cell.subject);

        const { status, sentCount } = await ask(cell);

        const place = `${route.id}, ${cell.kind.name}, ${cell.subject}`;
        if (expected === 'refused while paused') {
          // A call that the upstream is not needed for, or that the configuration closes, says so first.
          expect([place, [403, 503].includes(status), sentCount]).toEqual([place, true, 0]);
        } else if (expected === 'let in') {
          // A route of the bridge may answer that it finds nothing, or that the bridge is not well; neither is judged
          // here.
          expect([place, [401, 403].includes(status), status === 500]).toEqual([place, false, false]);
          if (route.group === 'Upstream API') expect([place, status, sentCount]).toEqual([place, 200, 1]);
        } else expect([place, status, sentCount]).toEqual([place, expected, 0]);
      }
    },
  );
});

/**
 * Returns whether a request to the second path is one to the first path, too: `/projects/shared` has the form of a
 * project's own path.
 */
function covers(template: string, path: string): boolean {
  const [wide, narrow] = [template.split('/'), path.split('/')];
  return (
    wide.length === narrow.length &&
    wide.every((part, place) => part.startsWith('{') || part === narrow[place])
  );
}

describe('methods', () => {
  const paths = [...new Set(routes.map(({ path }) => path))];
  const others = paths.flatMap((path) => {
    const there = new Set<string>(
      routes.filter((each) => covers(each.path, path)).map((each) => each.method),
    );
    return METHODS.filter((method) => !there.has(method) && !(method === 'HEAD' && there.has('GET'))).map(
      (method) => ({ path, method }),
    );
  });
  let all: Kind;
  beforeAll(() => {
    all = { name: 'everything', scopes: 'every scope', projects: 'all', isGood: true };
  });

  test.each(others)(
    '$method $path is not there for any caller, and named as such below /bridge',
    async ({ path, method }) => {
      const route = routes.find((each) => each.path === path);
      if (route === undefined) throw new Error(`There is no route ${path}`);

      const { status, sentCount } = await ask({ route, kind: all, subject: PROJECT_ID }, method);

      expect([status, sentCount]).toEqual([path.startsWith('/bridge/') ? 405 : 404, 0]);
    },
  );
});
