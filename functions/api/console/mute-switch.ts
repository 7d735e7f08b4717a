/** Handles the forms that mute alerts and lift a mute. It uses the routes of the API, which check and audit. */

import type { Context, Hono } from 'hono';
import { mutesPath } from './html/paths.ts';
import { messagePage, showPage, showSignIn } from './pages/page.ts';
import { checkScope } from './pages/permission.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';
import { genuineForm, showOutcome } from './visitor-command.ts';

export type MuteSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token lacks the scope alerts:mute. Nothing was changed.',
  403,
);

export function addMuteSwitch(app: Hono, deps: MuteSwitchDeps): void {
  app.post('/mutes', (c) => handle(deps, c, 'muteAlerts'));
  app.post('/mutes/:mute_id/lift', (c) => handle(deps, c, 'liftMute'));
}

async function handle(
  deps: MuteSwitchDeps,
  c: Context,
  routeId: 'muteAlerts' | 'liftMute',
): Promise<Response> {
  const visitor = await visitorOf(deps, c);
  return visitor === undefined ? showSignIn(c) : send(deps, c, visitor, routeId);
}

async function send(
  deps: MuteSwitchDeps,
  c: Context,
  visitor: Visitor,
  routeId: 'muteAlerts' | 'liftMute',
): Promise<Response> {
  const form = await genuineForm(deps, c, visitor, 'consoleMute');
  const route = deps.routes.find(({ id }) => id === routeId);
  const mayMute = checkScope(deps, visitor, 'alerts:mute', 'consoleMute');
  if (form === undefined || route === undefined || !mayMute) return showPage(c, visitor, NOT_DONE);
  const { mute_id } = c.req.param() as { mute_id?: string };
  const answer = await deps.call(route, {
    caller: visitor.caller,
    ids: mute_id === undefined ? {} : { mute_id },
    ...(routeId === 'muteAlerts' && { body: muteIn(form) }),
  });
  return showOutcome(c, visitor, answer, { what: 'The mute', backTo: mutesPath({}) });
}

/** An empty field does not narrow the mute. */
function muteIn(form: URLSearchParams): Readonly<Record<string, unknown>> {
  const text = (name: string) => form.get(name)?.trim() || undefined;
  const [project_id, action] = [text('project_id'), text('action')];
  return {
    ...(project_id !== undefined && { project_id }),
    ...(action !== undefined && { action }),
    duration_seconds: Number(form.get('duration_seconds')),
    reason: text('reason') ?? '',
  };
}
