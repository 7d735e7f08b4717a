/**
 * Builds the console: pages for people, over the same read model, callers and audited commands as the API. It is
 * loaded with the first request for a page. Here is also what answers beside the pages: a page for a failure, and
 * whether there is news for an open page.
 */

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { createAlikeNow } from '../../shared/alerts/common-cause.ts';
import type { ApiSettings } from '../../shared/config/api-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { NoteUnreadable } from '../../shared/store/unreadable.ts';
import { isUnreadable } from '../../shared/store/unreadable.ts';
import type { ApiPorts, Directory, Readers } from './api-ports.ts';
import { isVisibleTo } from './bridge/event-routes.ts';
import {
  CONSOLE_POLICY,
  ICON,
  ICON_PATH,
  page,
  SCRIPT_PATH,
  STYLE,
  STYLE_PATH,
} from './console/html/layout.ts';
import { simple } from './console/html/markup.ts';
import { SCRIPT } from './console/html/script.ts';
import { buildAccount } from './console/pages/account-page.ts';
import { type AccountsDeps, buildAccounts } from './console/pages/accounts-page.ts';
import { type AlertsDeps, addChannelTest, buildAlerts } from './console/pages/alerts-page.ts';
import { addDecisions, buildApprovals } from './console/pages/approvals-page.ts';
import { buildAudit } from './console/pages/audit-page.ts';
import { buildBranch } from './console/pages/branch-page.ts';
import { buildCommand } from './console/pages/command-page.ts';
import { buildCommands } from './console/pages/commands-page.ts';
import { addEndpointCommands, buildCompute } from './console/pages/compute-page.ts';
import { addSendAgain, buildEvent, EVENT_PATHS } from './console/pages/event-page.ts';
import { buildEvents } from './console/pages/events-page.ts';
import { addFreezeSwitch, buildFreeze } from './console/pages/freeze-page.ts';
import { addMuteSwitch, buildMutes, muteBanner } from './console/pages/mutes-page.ts';
import { addAcknowledgeSwitch, buildOperation } from './console/pages/operation-page.ts';
import type { OperationDeps } from './console/pages/operation-view.ts';
import { buildOverview, type OverviewDeps } from './console/pages/overview-page.ts';
import {
  type BuildPage,
  buildTimeZone,
  checkReading,
  NOTHING_HERE,
  offerProvider,
  showPage,
  showSignIn,
} from './console/pages/page.ts';
import { addReadWish, buildProject, type ProjectDeps } from './console/pages/project-page.ts';
import { buildProjects } from './console/pages/projects-page.ts';
import { buildSearch } from './console/pages/search-page.ts';
import { addSubscribeActions, buildSubscribe, type SubscribeDeps } from './console/pages/subscribe-page.ts';
import { buildSubscriptions } from './console/pages/subscriptions-page.ts';
import { buildTokens } from './console/pages/tokens-page.ts';
import { createIdentityProvider } from './console/sign-in/identity-provider.ts';
import { createEndedSessions, createRoleCallers } from './console/sign-in/session.ts';
import {
  addProviderSignIn,
  addSignOut,
  addTokenSignIn,
  type ProviderSignInDeps,
  type SignOutDeps,
  type TokenSignInDeps,
} from './console/sign-in/sign-in.ts';
import { type RefusalDeps, type VisitorDeps, visitorOf } from './console/sign-in/visitor.ts';
import { readAlertHistory, readChannelStanding } from './read-model/alerts.ts';
import { isCursorFault } from './read-model/list-page.ts';
import { rawRequestOf } from './serving/read-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';

export function createPages(
  { table, indexes, pepper, busName, clock, signInSecret }: ApiPorts,
  { alertChannels, signIn, labels }: ApiSettings,
  parts: {
    readonly directory: Directory;
    readonly readers: Readers;
    readonly serving: ServeDeps;
    readonly routes: readonly Route[];
    readonly noteUnreadable: NoteUnreadable;
  },
): Hono {
  const { readers, serving, routes } = parts;
  return createConsole({
    ...readers,
    alikeNow: createAlikeNow(table, indexes, { clock, noteUnreadable: parts.noteUnreadable }),
    alertsOf: (record) => readAlertHistory(table, alertChannels, record),
    channelStandings: () =>
      Promise.all(alertChannels.map((channel) => readChannelStanding(table, indexes, channel))),
    authenticator: serving.authenticator,
    endedSessions: createEndedSessions(table),
    callerOfPerson: createRoleCallers(signIn),
    provider: signIn && createIdentityProvider(signIn, { clock, secret: signInSecret }),
    signIn,
    labels,
    consoleBaseUrl: signIn?.base_url,
    pepper,
    clock: serving.clock,
    newId: serving.newId,
    busName,
    upstreamPages: { get: (accountId) => parts.directory.get(accountId)?.settings.upstream_page_url },
    telemetry: serving.telemetry,
    audit: serving.audit,
    routes,
    call: (route, { caller, ...request }) =>
      serveCaller(serving, route, { caller, raw: rawRequestOf(request) }),
  });
}

interface ConsoleDeps
  extends VisitorDeps,
    TokenSignInDeps,
    ProviderSignInDeps,
    SignOutDeps,
    OverviewDeps,
    ProjectDeps,
    OperationDeps,
    SubscribeDeps,
    AlertsDeps,
    AccountsDeps {
  readonly clock: Clock;
  readonly authenticator: VisitorDeps['authenticator'];
  readonly endedSessions: SignOutDeps['endedSessions'];
}

/** Returns the app, which must be mounted at `/console`. */
function createConsole(deps: ConsoleDeps): Hono {
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
  addDecisions(app, deps);
  addChannelTest(app, deps);
  addAcknowledgeSwitch(app, deps);
  addSubscribeActions(app, deps);
  addSendAgain(app, deps);
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
  app.get(ICON_PATH.replace('/console', ''), asset(ICON, 'image/svg+xml'));
  app.get(SCRIPT_PATH.replace('/console', ''), asset(SCRIPT, 'text/javascript; charset=utf-8'));
}

function addPages(app: Hono, deps: ConsoleDeps): void {
  const pages: Readonly<Record<string, BuildPage>> = {
    '/': buildOverview(deps),
    '/commands': buildCommands(deps),
    '/alerts': buildAlerts(deps),
    '/mutes': buildMutes(deps),
    '/approvals': buildApprovals(deps),
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
    '/subscriptions': buildSubscriptions(deps),
    '/time-zone': buildTimeZone,
    ...Object.fromEntries(EVENT_PATHS.map((path) => [path, buildEvent(deps)])),
  };
  for (const [path, build] of Object.entries(pages)) {
    app.get(path, async (c) => {
      const visitor = await visitorOf(deps, c);
      if (visitor === undefined) return showSignIn(c);
      const [made, banner] = await Promise.all([build(c, visitor), muteBanner(deps, c, visitor)]);
      return showPage(c, visitor, { ...made, banner });
    });
  }
}

const UNREADABLE = {
  title: 'Not readable',
  content: simple(
    'This record cannot be read',
    'A newer version of the bridge wrote it, or it is damaged. It is kept unchanged, and everything else continues to work. The log names it under item.unreadable.',
  ),
};

const NOT_A_PAGE = {
  title: 'Not a page',
  content: simple(
    'There is no such page',
    'The link was cut off, or was made for another person. Start again from the first page.',
  ),
};

/** `path` is that of a page. A form has none, because sending it again might do a thing twice. */
const failedPage = (path: string | undefined, requestId: string) => ({
  title: 'Failed',
  content: html`${simple('The page could not be made', `The bridge failed or is slow, or a link was cut off. Its log names this request ${requestId}.`)}
${path === undefined ? '' : html`<p class="row"><a class="button" href="${path}">Try again</a><a class="button" href="/console">Overview</a></p>`}`,
});

function addErrorPages(app: Hono, { telemetry, newId }: RefusalDeps): void {
  app.onError(async (error, c) => {
    if (isUnreadable(error)) return c.html(page(UNREADABLE), 503);
    if (isCursorFault(error)) return c.html(page(NOT_A_PAGE), 400);
    // The path and the message are left out, because both may have ids and values of the request in them.
    const request_id = newId();
    telemetry.log('error', 'console.failed', {
      request_id,
      method: c.req.method,
      reason: toError(error).name,
    });
    const { pathname, search } = new URL(c.req.url);
    return c.html(
      page(failedPage(c.req.method === 'GET' ? `${pathname}${search}` : undefined, request_id)),
      500,
    );
  });
}

function addLiveUpdates(app: Hono, deps: VisitorDeps & RefusalDeps): void {
  app.get('/live', async (c) => {
    const visitor = await visitorOf(deps, c);
    if (visitor === undefined) return c.json({ problem: 'signed out' }, 401);
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id))
      return c.json({ problem: 'operations:read is needed' }, 403);
    const about = c.req.query('about') ?? '*';
    const { events, cursor } = await model.feed.since(c.req.query('cursor') ?? model.feed.start('now'));
    const isAbout = (detail: Readonly<Record<string, unknown>>) =>
      about === '*' || detail['project_id'] === about || detail['operation_id'] === about;
    const changed = events.filter(isVisibleTo(caller)).some(({ detail }) => isAbout(detail));
    return c.json({ cursor, changed });
  });
}
