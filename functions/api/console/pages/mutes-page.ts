/** Lists the mutes of alerts with who set them, until when and why; and has the forms that set and lift one. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { MUTE_REASON_CHARACTERS_MAX, type Mute } from '../../../../shared/alerts/mutes.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { empty, type Html, mutesPath } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { type PageTime, time, timeAndAge, timeAndRest } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  pageTimeOf,
  READING_REFUSED,
  showPage,
} from './page.ts';
import { genuineForm, type RouteDeps, readBridge, showOutcome } from './visitor-calls.ts';

export interface MutesDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

/** A mute of the configuration can name several projects, and cannot be lifted here. */
interface ShownMute extends Mute {
  readonly configured?: true;
  readonly project_ids?: readonly string[];
}

interface MutesView {
  readonly accountId: string;
  readonly mutes: readonly ShownMute[];
  readonly names: ReadonlyMap<string, string>;
  /** The forms are filled in with this place. */
  readonly project: string;
  readonly action: string;
  /** The visitor sees the forms only with this key. */
  readonly key: string | undefined;
  /** A form that is sent twice with this key sets one mute. */
  readonly commandKey: string;
  readonly at: PageTime;
}

/** People mute for one of these times. The API takes any time up to 30 days. */
const DURATIONS: readonly (readonly [seconds: number, name: string])[] = [
  [3_600, '1 hour'],
  [4 * 3_600, '4 hours'],
  [24 * 3_600, '1 day'],
  [7 * 24 * 3_600, '7 days'],
  [30 * 24 * 3_600, '30 days'],
];

export function buildMutes(deps: MutesDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model, session, pepper } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const [answer, names] = await Promise.all([
      readBridge(deps, 'listMutes', { caller, ids: {} }),
      model.projectNames(),
    ]);
    const { mutes = [] } = (answer ?? {}) as { mutes?: readonly ShownMute[] };
    const key = caller.scopes.has('alerts:mute') ? formKey(session, pepper) : undefined;
    const asked = (name: string) => (c.req.query(name) ?? '').slice(0, 100).trim();
    const place = { project: asked('project_id'), action: asked('action') };
    const view = { mutes, names, ...place, key, commandKey: deps.newId() };
    const at = pageTimeOf(c, deps.clock);
    return { title: 'Mutes', about: 'time', content: mutesPage({ accountId: model.accountId, at, ...view }) };
  };
}

/** While the alerts of everything are muted, every page says so. */
export async function muteBanner(
  deps: MutesDeps,
  c: Context,
  { caller }: Visitor,
): Promise<Html | undefined> {
  if (!caller.scopes.has('operations:read')) return undefined;
  const answer = await readBridge(deps, 'listMutes', { caller, ids: {} });
  const { mutes = [] } = (answer ?? {}) as { mutes?: readonly ShownMute[] };
  const at = pageTimeOf(c, deps.clock);
  // A mute of the configuration may begin later.
  const whole = mutes.find(
    ({ project_id, project_ids, action, incident_id, created_at }) =>
      (project_id ?? project_ids ?? action ?? incident_id) === undefined &&
      Date.parse(created_at) <= at.nowMs,
  );
  if (whole === undefined) return undefined;
  return html`All alerts are muted, ${timeAndRest(whole.until, at)}: ${whole.reason} (${whole.client_id}). <a href="${mutesPath({})}">Mutes</a>`;
}

function mutesPage(view: MutesView): Html {
  const { mutes, key } = view;
  return html`<h1>Mutes</h1>
<p class="quiet">While a mute lasts, the alerts that it covers wait. They are sent when it ends, if the failure still stands, and the hourly digest counts them.</p>
${mutes.length === 0 ? empty('No alert is muted.') : muteTable(view)}
<h2>Mute alerts</h2>
${key === undefined ? empty('Your token may not do this: it needs the scope alerts:mute.') : muteForm(view, key)}`;
}

function muteTable({ accountId, mutes, names, key, at }: MutesView): Html {
  return html`<table class="stack"><thead><tr><th>What</th><th>Until</th><th>Why</th><th>Set by</th><th>Lift</th></tr></thead>
<tbody>${mutes.map(
    (mute) => html`<tr><td>${scopeOf(accountId, mute, names)}</td>
<td data-label="Until">${timeAndRest(mute.until, at)}</td><td>${mute.reason}</td>
<td>${mute.configured ? html`the configuration, from ${time(mute.created_at, at)}` : html`${mute.client_id} ${timeAndAge(mute.created_at, at)}`}</td>
<td>${key === undefined || mute.configured ? '' : html`<form method="post" action="${mutesPath({ lift: mute.mute_id })}"><input type="hidden" name="form_key" value="${key}"><button>Lift<span class="only-read"> the mute of ${mute.action ?? 'all actions'} in ${mute.project_id ?? 'all projects'}</span></button></form>`}</td></tr>`,
  )}</tbody></table>`;
}

function scopeOf(accountId: string, mute: ShownMute, names: ReadonlyMap<string, string>): Html {
  const { project_ids = mute.project_id === undefined ? [] : [mute.project_id] } = mute;
  const where =
    project_ids.length === 0
      ? html`all projects`
      : html`${project_ids.map((id, place) => html`${place === 0 ? '' : ', '}${projectLink(accountId, id, names)}`)}`;
  return html`${mute.action ?? 'all actions'} in ${where}${mute.incident_id === undefined ? '' : html` <span class="quiet">this incident only</span>`}`;
}

function muteForm({ project, action, commandKey }: MutesView, key: string): Html {
  return html`<form class="filter" id="mute" method="post" action="${mutesPath({})}"><input type="hidden" name="form_key" value="${key}"><input type="hidden" name="command_key" value="${commandKey}">
<div><label for="project_id">Project id (empty: all)</label><input id="project_id" name="project_id" value="${project}" size="26" maxlength="100"></div>
<div><label for="action">Action (empty: all)</label><input id="action" name="action" value="${action}" size="18" maxlength="100"></div>
<div><label for="duration_seconds">For</label><select id="duration_seconds" name="duration_seconds">${DURATIONS.map(([seconds, name]) => html`<option value="${seconds}">${name}</option>`)}</select></div>
<div><label for="reason">Why</label><input id="reason" name="reason" required size="30" maxlength="${MUTE_REASON_CHARACTERS_MAX}"></div>
<button class="do">Mute</button></form>`;
}

export type MuteSwitchDeps = VisitorDeps & RefusalDeps & RouteDeps;

const NOT_DONE = messagePage(
  'Not done',
  'The form did not come from a page of this session, or your token lacks the scope alerts:mute. Nothing was changed.',
  403,
);

export function addMuteSwitch(app: Hono, deps: MuteSwitchDeps): void {
  for (const [path, routeId] of [
    ['/mutes', 'muteAlerts'],
    ['/mutes/:mute_id/lift', 'liftMute'],
  ] as const)
    app.post(
      path,
      forVisitors(deps, (_deps, c, visitor) => send(deps, c, visitor, routeId)),
    );
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
    ...(routeId === 'muteAlerts' && { idempotencyKey: form.get('command_key') ?? '', body: muteIn(form) }),
  });
  return showOutcome(c, visitor, answer, {
    what: 'The mute',
    backTo: mutesPath({}),
    done: routeId === 'muteAlerts' ? 'The alerts are muted.' : 'The mute is lifted.',
  });
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
