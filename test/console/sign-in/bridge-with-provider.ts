/** Starts a bridge whose people sign in at a real OpenID provider, both on the loopback interface. */

import type * as z from 'zod';
import { signInSettings } from '../../../shared/config/api-config.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { ACCOUNT_ID, createApiUnderTest, listen } from '../../api/api-under-test.ts';
import { createUpstreamDouble } from '../../api/upstream-double.ts';
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from './openid-provider.ts';
import { createPersonWithBrowser } from './person-with-browser.ts';

const ROLES = [
  { value: 'bridge-admins', scopes: ['admin', 'audit:read'] },
  { value: 'team-blue', scopes: ['operator'], project_ids: ['blue-project-1'] },
  { value: 'no-reading', scopes: ['projects:read'] },
];

export interface BridgeWithProviderOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly secret?: 'none' | 'wrong';
  readonly authentication?: 'client_secret_basic' | 'client_secret_post';
  readonly providerHost?: 'localhost';
}

export async function startBridgeWithProvider(options: BridgeWithProviderOptions = {}) {
  const { settings = {}, secret, authentication, providerHost } = options;
  const provider = await startOpenIdProvider({
    ...(secret !== 'none' && { secret: CLIENT_SECRET }),
    ...(authentication && { authentication }),
    ...(providerHost && { host: providerHost }),
  });
  provider.setClaims({ email: 'ada@example.com', groups: ['everybody', 'bridge-admins'] });
  // Time stands still unless a test moves it, so that no test depends on how fast the machine is.
  let nowMs = Date.now();
  const clock = { ...systemClock, now: () => nowMs };
  const signIn = signInSettings.parse({
    issuer: provider.issuer,
    client_id: CLIENT_ID,
    account_id: ACCOUNT_ID,
    roles: ROLES,
    ...(secret !== 'none' && { client_secret_id: 'a-secret' }),
    ...(authentication && { client_authentication: authentication }),
    ...settings,
  } satisfies Partial<z.input<typeof signInSettings>> & object);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble(() => Response.json({ endpoints: [] })).fetch,
    signIn,
    ...(secret !== 'none' && { signInSecret: secret === 'wrong' ? 'another' : CLIENT_SECRET }),
    clock,
  });
  const origin = await listen(api);
  provider.register(origin);
  return {
    api,
    provider,
    origin,
    console: `${origin}/console`,
    start: `${origin}/console/sign-in/start`,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    /** Lets a person sign in, and resolves to the last page with the person's browser. */
    signIn: async (name = 'ada', next = '/console') => {
      const browser = createPersonWithBrowser();
      const start = `${origin}/console/sign-in/start?next=${encodeURIComponent(next)}`;
      const callback = await browser.reachCallback(start, name);
      return { browser, callback, page: await browser.send(callback) };
    },
  };
}
