/** The console: pages for people over the same read model, callers and audited commands as the API. */

import { type Context, Hono } from 'hono';
import { maySee } from '../../../shared/callers/authorize.ts';
import { tokenIdOf } from '../../../shared/callers/bridge-token.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/pattern/event-pattern.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import { isUnreadable, unlessUnreadable } from '../../../shared/store/unreadable.ts';
import { readAudit } from '../bridge/audit.ts';
import { eventsOf } from '../bridge/event-feed.ts';
import { healthOf } from '../bridge/health.ts';
import { isVisibleTo } from '../bridge/read-feed.ts';
import { noteRefusal } from '../serving/traces.ts';
import { CONSOLE_POLICY, SCRIPT, SCRIPT_PATH, STYLE, STYLE_PATH } from './assets.ts';
import { auditPage, auditQueryOf } from './audit-page.ts';
import { addCommandRoutes } from './command-routes.ts';
import { eventsPage, patternOf, subscribePage } from './events-page.ts';
import { page } from './layout.ts';
import { operationPage } from './operation-page.ts';
import { overviewPage } from './overview-page.ts';
import { projectPage } from './project-page.ts';
import { filterOf, formOf, isHttps, isOwnOrigin, isOwnPath } from './request-parts.ts';
import { cookieHeader, formKey, isFormKey, seal, sessionOf } from './session.ts';
import { createUpstreamView } from './upstream-view.ts';
import { type ConsoleDeps, createVisitors, simple, type Visitors } from './visitors.ts';

/** Events that a pattern is tried on, and the latest that an overview looks at for failures. */
const TRIED_EVENTS = 200;

const unreadableRecord = simple(
  'This record cannot be read',
  'A newer version of the bridge wrote it, or it is damaged. It is kept as it is, and everything else goes on. The log names it as item.unreadable.',
);

export function createConsole(deps: ConsoleDeps): Hono {
  const app = new Hono();
  const { clock } = deps;
  const { routeOf, answerOf, computesOf } = createUpstreamView(deps);
  const visitors = createVisitors(deps);
  const { whoIs, signIn, shown, message, mayRead, nothing } = visitors;
  const get = (path: string, build: Parameters<Visitors['get']>[2]) => visitors.get(app, path, build);

  app.use(async (c, next) => {
    await next();
    c.header('content-security-policy', CONSOLE_POLICY);
    c.header('x-content-type-options', 'nosniff');
    // Not `no-referrer`: browsers then send forms with `Origin: null`, and the check of it would refuse our own.
    c.header('referrer-policy', 'same-origin');
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
  });

  const asset = (text: string, type: string) => (c: Context) =>
    c.body(text, 200, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' });
  app.get(STYLE_PATH.replace('/console', ''), asset(STYLE, 'text/css; charset=utf-8'));
  app.get(SCRIPT_PATH.replace('/console', ''), asset(SCRIPT, 'text/javascript; charset=utf-8'));

  app.get('/sign-in', (c) => c.redirect('/console'));

  app.post('/sign-in', async (c) => {
    const form = await formOf(c);
    const [token, next] = [(form?.get('token') ?? '').trim(), form?.get('next') ?? ''];
    const caller = isOwnOrigin(c) ? await deps.authenticator.authenticate(token) : undefined;
    if (caller === undefined) {
      const asker = { request_id: deps.newId(), call: 'consoleSignIn', token_id: tokenIdOf(token) };
      noteRefusal(deps.telemetry, 'sign-in-refused', asker);
      return signIn(c, 'This token is not valid here: it may be mistyped, expired or revoked.');
    }
    const nowMs = clock.now();
    const session = sessionOf(caller, { id: deps.newId(), tokenId: tokenIdOf(token), nowMs });
    await visitors.noteSession({ caller, session }, 'signed-in');
    const maxAgeSeconds = Math.max(0, Math.floor((session.ends_at_ms - nowMs) / 1_000));
    c.header('set-cookie', cookieHeader(seal(session, await deps.pepper()), maxAgeSeconds, isHttps(c)));
    return c.redirect(isOwnPath(next) ? next : '/console', 303);
  });

  app.post('/sign-out', async (c) => {
    const who = await whoIs(c);
    const isGenuine =
      who !== undefined &&
      isOwnOrigin(c) &&
      isFormKey((await formOf(c))?.get('form_key'), who.session, who.pepper);
    if (who !== undefined && !isGenuine) {
      visitors.refuseForm(who, 'consoleSignOut');
      return shown(
        c,
        who,
        message(
          'Not signed out',
          'The form was not one of this page. Go to the overview and sign out there.',
          403,
        ),
      );
    }
    if (who !== undefined) {
      await deps.endedSessions.end({ id: who.session.id, endsAtMs: who.session.ends_at_ms }, clock.now());
      await visitors.noteSession(who, 'signed-out');
    }
    c.header('set-cookie', cookieHeader('', 0, isHttps(c)));
    return c.redirect('/console', 303);
  });

  get('/', async (c, who) => {
    const { caller, model } = who;
    if (!mayRead(who, caller.account_id))
      return message('No access', 'Your token needs the scope operations:read.', 403);
    const [status, unpublished, channelReasons, openOperations, failures, projects] = await Promise.all([
      deps.statusOf(model.accountId),
      model.unpublished(),
      deps.deafChannels(),
      model.openOperations(),
      model.feed.recent({ limit: 10, filter: { status: 'failed' } }),
      model.projects({ limit: 50, cursor: c.req.query('projects') || undefined }),
    ]);
    const nowMs = clock.now();
    return {
      title: 'Overview',
      about: '*',
      content: overviewPage({
        accountId: model.accountId,
        status,
        health: healthOf({
          status,
          unpublished,
          channelReasons,
          nowMs,
          maySee: (id) => maySee(caller, id),
        }),
        open: openOperations.filter(({ project_id }) => maySee(caller, project_id)),
        failures: failures.items.filter(isVisibleTo(caller)).slice(0, 10),
        projects: projects.items.filter(({ project_id }) => maySee(caller, project_id)),
        moreProjects: projects.next,
        nowMs,
      }),
    };
  });

  get('/accounts/:account_id', async (c, who) =>
    who.caller.account_id === c.req.param('account_id')
      ? message('Moved', 'The overview is at the top left.', 404)
      : nothing,
  );

  get('/accounts/:account_id/projects/:project_id', async (c, who) => {
    const { account_id: accountId = '', project_id: projectId = '' } = c.req.param();
    if (!mayRead(who, accountId, projectId)) return nothing;
    const { caller, model } = who;
    const [operations, computes] = await Promise.all([
      model.operations(projectId, { limit: 50, cursor: c.req.query('cursor') || undefined }),
      computesOf(caller, projectId),
    ]);
    if (
      operations.items.length === 0 &&
      computes === undefined &&
      (await model.project(projectId)) === undefined
    )
      return nothing;
    const actions = (['start', 'restart'] as const).filter(
      (action) => routeOf(action) !== undefined && caller.scopes.has('computes:restart'),
    );
    const content = projectPage({
      accountId,
      projectId,
      operations: operations.items,
      more: operations.next,
      computes,
      actions,
      formKey: formKey(who.session, who.pepper),
      isReadRequested: c.req.query('asked') !== undefined,
      nowMs: clock.now(),
    });
    return { title: projectId, about: projectId, content };
  });

  get('/accounts/:account_id/projects/:project_id/operations/:operation_id', async (c, who) => {
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      operation_id: operationId = '',
    } = c.req.param();
    if (!mayRead(who, accountId, projectId)) return nothing;
    const { caller, model } = who;
    const record = await model.operation(projectId, operationId);
    if (record === undefined)
      return message(
        'Not seen yet',
        'The bridge has not seen this operation, or it was forgotten after 45 days.',
        404,
      );
    const [others, command, upstream, alerts] = await Promise.all([
      model.openOperations(projectId),
      record.command && unlessUnreadable(model.command(projectId, record.command.request_id)),
      answerOf(caller, 'getOperation', { project_id: projectId, operation_id: operationId }),
      deps.alertsOf(record),
    ]);
    return {
      title: `${record.action} ${record.status}`,
      about: operationId,
      content: operationPage({
        record,
        events: eventsOf(record),
        command,
        others: others.filter(({ operation_id }) => operation_id !== operationId),
        upstream,
        alerts,
        nowMs: clock.now(),
      }),
    };
  });

  get('/events', async (c, who) => {
    if (!mayRead(who, who.caller.account_id))
      return message('No access', 'Your token needs the scope operations:read.', 403);
    const filter = filterOf(c);
    const events = await who.model.feed.recent({
      limit: 50,
      cursor: c.req.query('cursor') || undefined,
      filter,
    });
    const content = eventsPage({
      accountId: who.model.accountId,
      events: events.items.filter(isVisibleTo(who.caller)),
      filter,
      more: events.next,
    });
    return { title: 'Events', about: '*', content };
  });

  get('/audit', async (c, who) => {
    if (!visitors.hasScope(who, 'audit:read', 'consoleAudit'))
      return message('No access', 'Your token needs the scope audit:read.', 403);
    const query = auditQueryOf(c);
    const audit = await readAudit(who.model, who.caller, query);
    const content = auditPage({ accountId: who.model.accountId, filter: query, page: audit });
    return { title: 'Audit', content };
  });

  get('/subscribe', async (c, who) => {
    if (!mayRead(who, who.caller.account_id))
      return message('No access', 'Your token needs the scope operations:read.', 403);
    const filter = filterOf(c);
    const pattern = patternOf(filter);
    const parsed = parseEventPattern(JSON.stringify(pattern));
    const recent = (await who.model.feed.recent({ limit: TRIED_EVENTS })).items
      .filter(isVisibleTo(who.caller))
      .slice(0, TRIED_EVENTS);
    const matched = recent.filter(({ source, detail_type, detail }) =>
      matchesEventPattern(parsed, { source, 'detail-type': detail_type, detail }),
    ).length;
    return {
      title: 'Subscribe',
      content: subscribePage({
        busName: deps.busName,
        filter,
        pattern,
        tested: { matched, of: recent.length },
      }),
    };
  });

  addCommandRoutes(app, deps, visitors);

  /** Whether a page has something new to show: the cursor moves on, and says if an event was about it. */
  app.get('/live', async (c) => {
    const who = await whoIs(c);
    if (who === undefined) return c.json({ problem: 'signed out' }, 401);
    if (!mayRead(who, who.caller.account_id)) return c.json({ problem: 'operations:read is needed' }, 403);
    const about = c.req.query('about') ?? '*';
    const { events, cursor } = await who.model.feed.since(
      c.req.query('cursor') ?? who.model.feed.start('now'),
    );
    const isAbout = (detail: Readonly<Record<string, unknown>>) =>
      about === '*' || detail['project_id'] === about || detail['operation_id'] === about;
    return c.json({
      cursor,
      changed: events.filter(isVisibleTo(who.caller)).some(({ detail }) => isAbout(detail)),
    });
  });

  app.all('*', async (c) => {
    const who = await whoIs(c);
    return who === undefined ? signIn(c) : shown(c, who, nothing);
  });

  app.onError(async (error, c) => {
    if (isUnreadable(error)) return c.html(page({ title: 'Not readable', content: unreadableRecord }), 503);
    if (isCursorFault(error))
      return c.html(
        page({
          title: 'Not a page',
          content: simple(
            'There is no such page',
            'The link was cut off or belongs to somebody else. Begin at the first page.',
          ),
        }),
        400,
      );
    // Neither the path nor the message: both may have ids and values of the request in them.
    deps.telemetry.log('error', 'console.failed', {
      request_id: deps.newId(),
      method: c.req.method,
      reason: toError(error).name,
    });
    return c.html(
      page({
        title: 'Failed',
        content: simple(
          'The page could not be made',
          'The bridge failed, or a link was cut off. Going back and trying again may help.',
        ),
      }),
      500,
    );
  });

  return app;
}

function isCursorFault(error: unknown): boolean {
  return error instanceof AppError && error.code === 'cursor_invalid';
}
