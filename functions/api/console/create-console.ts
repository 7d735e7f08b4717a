/** Builds the console: pages for people, over the same read model, callers and audited commands as the API. */

import { type Context, Hono } from 'hono';
import { addAcknowledgeSwitch } from './acknowledge-switch.ts';
import { addEndpointCommands } from './endpoint-commands.ts';
import { addErrorPages } from './error-pages.ts';
import { addFreezeSwitch } from './freeze-switch.ts';
import { CONSOLE_POLICY, SCRIPT_PATH, STYLE_PATH } from './html/frame/assets.ts';
import { SCRIPT } from './html/frame/script.ts';
import { STYLE } from './html/frame/style.ts';
import { addLiveUpdates } from './live-updates.ts';
import { addMuteSwitch } from './mute-switch.ts';
import { buildAccount } from './pages/account/account-page.ts';
import { buildOverview, type OverviewDeps } from './pages/account/overview-page.ts';
import { buildProjects } from './pages/account/projects-page.ts';
import { buildSearch } from './pages/account/search-page.ts';
import { type AccountsDeps, buildAccounts } from './pages/administration/accounts-page.ts';
import { buildAudit } from './pages/administration/audit-page.ts';
import { buildFreeze } from './pages/administration/freeze-page.ts';
import { buildTokens } from './pages/administration/tokens-page.ts';
import { buildCommand } from './pages/command/command-page.ts';
import { buildCommands } from './pages/command/commands-page.ts';
import { buildEvents } from './pages/event/events-page.ts';
import { buildMutes } from './pages/mute/mutes-page.ts';
import { buildOperation } from './pages/operation/operation-page.ts';
import type { OperationDeps } from './pages/operation/operation-view.ts';
import { type BuildPage, NOTHING_HERE, showPage, showSignIn } from './pages/page.ts';
import { buildBranch } from './pages/project/branch-page.ts';
import { buildCompute } from './pages/project/compute-page.ts';
import { buildProject, type ProjectDeps } from './pages/project/project-page.ts';
import { buildTimeZone } from './pages/time-zone-page.ts';
import { addReadWish } from './read-wish.ts';
import { offerProvider } from './session/sign-in-offer.ts';
import { type VisitorDeps, visitorOf } from './session/visitor.ts';
import { addProviderSignIn, type ProviderSignInDeps } from './sign-in/provider-sign-in.ts';
import { addSignOut, type SignOutDeps } from './sign-in/sign-out.ts';
import { addTokenSignIn, type TokenSignInDeps } from './sign-in/token-sign-in.ts';
import { buildSubscribe, type SubscribeDeps } from './subscribe/subscribe-page.ts';
import { addSubscribeActions } from './subscribe-actions.ts';

export interface ConsoleDeps
  extends VisitorDeps,
    TokenSignInDeps,
    ProviderSignInDeps,
    SignOutDeps,
    OverviewDeps,
    ProjectDeps,
    OperationDeps,
    SubscribeDeps,
    AccountsDeps {
  readonly clock: SignOutDeps['clock'];
  readonly authenticator: VisitorDeps['authenticator'] & TokenSignInDeps['authenticator'];
  readonly endedSessions: SignOutDeps['endedSessions'];
}

/** Returns the app, which must be mounted at `/console`. */
export function createConsole(deps: ConsoleDeps): Hono {
  const app = new Hono();
  addHeaders(app);
  addAssets(app);
  offerProvider(app, deps.provider?.host);
  addTokenSignIn(app, deps);
  addProviderSignIn(app, deps);
  addSignOut(app, deps);
  addPages(app, deps);
  addEndpointCommands(app, deps);
  addReadWish(app, deps);
  addFreezeSwitch(app, deps);
  addMuteSwitch(app, deps);
  addAcknowledgeSwitch(app, deps);
  addSubscribeActions(app, deps);
  addLiveUpdates(app, deps);
  app.all('*', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : showPage(c, visitor, NOTHING_HERE);
  });
  addErrorPages(app, deps);
  return app;
}

function addHeaders(app: Hono): void {
  app.use(async (c, next) => {
    await next();
    c.header('content-security-policy', CONSOLE_POLICY);
    c.header('x-content-type-options', 'nosniff');
    // With `no-referrer`, browsers would send forms with `Origin: null`, and the check of the origin would refuse them.
    c.header('referrer-policy', 'same-origin');
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
  });
}

function addAssets(app: Hono): void {
  const asset = (text: string, type: string) => (c: Context) =>
    c.body(text, 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
  app.get(STYLE_PATH.replace('/console', ''), asset(STYLE, 'text/css; charset=utf-8'));
  app.get(SCRIPT_PATH.replace('/console', ''), asset(SCRIPT, 'text/javascript; charset=utf-8'));
}

function addPages(app: Hono, deps: ConsoleDeps): void {
  const pages: Readonly<Record<string, BuildPage>> = {
    '/': buildOverview(deps),
    '/commands': buildCommands(deps),
    '/mutes': buildMutes(deps),
    '/tokens': buildTokens(deps),
    '/search': buildSearch(deps),
    '/projects': buildProjects(deps),
    '/accounts': buildAccounts(deps),
    '/accounts/:account_id': buildAccount(deps),
    '/accounts/:account_id/freeze': buildFreeze(deps),
    '/accounts/:account_id/projects/:project_id': buildProject(deps),
    '/accounts/:account_id/projects/:project_id/branches/:branch_id': buildBranch(deps),
    '/accounts/:account_id/projects/:project_id/commands/:request_id': buildCommand(deps),
    '/accounts/:account_id/projects/:project_id/endpoints/:endpoint_id': buildCompute(deps),
    '/accounts/:account_id/projects/:project_id/operations/:operation_id': buildOperation(deps),
    '/events': buildEvents(deps),
    '/audit': buildAudit(deps),
    '/subscribe': buildSubscribe(deps),
    '/time-zone': buildTimeZone,
  };
  for (const [path, build] of Object.entries(pages)) {
    app.get(path, async (c) => {
      const visitor = await visitorOf(deps, c);
      return visitor === undefined ? showSignIn(c) : showPage(c, visitor, await build(c, visitor));
    });
  }
}
