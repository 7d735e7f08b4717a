/** Shows one event with its JSON, so that it can be linked to and copied, and publishes it again on demand. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { JournalRecord } from '../../../../shared/records/journal-record.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import { eventsOf, type FeedEvent } from '../../read-model/event-feed.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import { facts, type Html, json, pageHead } from '../html/markup.ts';
import { eventPath, projectLink, resultOf, subjectOf } from '../html/records.ts';
import { type PageTime, timeAndAge } from '../html/times.ts';
import { formKey as formKeyOf } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  NOT_DONE,
  NOTHING_HERE,
  pageTimeOf,
  showPage,
} from './page.ts';
import { genuineForm, type RouteDeps, showOutcome } from './visitor-calls.ts';

export interface EventDeps extends RefusalDeps {
  readonly clock: Clock;
}

const KEPT_NO_LONGER = messagePage(
  'Not here',
  'No record that you may see has this event. The bridge keeps the last 32 events of an operation and the last two of a compute; the archive of the bus has all of them.',
  404,
);

const ACCOUNT = '/accounts/:account_id';
const RECORD = `${ACCOUNT}/projects/:project_id/:kind{operations|branches|endpoints|commands}/:record_id`;

/** An event is found in the journal of its record, so its address names both. */
export const EVENT_PATHS = [ACCOUNT, `${ACCOUNT}/projects/:project_id`, RECORD].map(
  (owner) => `${owner}/events/:event_id` as const,
);

export function buildEvent(deps: EventDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id: projectId } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const event = await findEvent(visitor, c);
    if (event === undefined) return KEPT_NO_LONGER;
    const names = await visitor.model.projectNames();
    const isSentAgain = c.req.query('sent') !== undefined;
    const at = pageTimeOf(c, deps.clock);
    const content = eventPage({ accountId, event, names, visitor, isSentAgain, at });
    return { title: event.detail_type, section: '/console/events', content };
  };
}

async function findEvent({ caller, model }: Visitor, c: Context): Promise<FeedEvent | undefined> {
  const { project_id: projectId, kind = '', record_id: id = '', event_id: eventId = '' } = c.req.param();
  const record = await unlessUnreadable(recordOf(model, projectId, { kind, id }));
  const events = record === undefined ? [] : eventsOf(record, (entry) => entry.id === eventId);
  return events.find(isVisibleTo(caller));
}

function recordOf(
  model: ReadModel,
  projectId: string | undefined,
  { kind, id }: { readonly kind: string; readonly id: string },
): Promise<JournalRecord | undefined> {
  if (projectId === undefined) return model.account();
  switch (kind) {
    case 'operations':
      return model.operation(projectId, id);
    case 'branches':
      return model.branch(projectId, id);
    case 'endpoints':
      return model.compute(projectId, id);
    case 'commands':
      return model.command(projectId, id);
    default:
      return model.project(projectId);
  }
}

interface EventView {
  readonly accountId: string;
  readonly event: FeedEvent;
  readonly names: ReadonlyMap<string, string>;
  readonly visitor: Visitor;
  readonly isSentAgain: boolean;
  readonly at: PageTime;
}

function eventPage(view: EventView): Html {
  const { accountId, event, names, at } = view;
  const { detail_type, detail, source, time, id, published } = event;
  const projectId = detail['project_id'];
  return html`<p class="crumbs"><a href="/console">Overview</a> › <a href="/console/events">Events</a></p>
${pageHead(detail_type, html`<button type="button" data-copy="json" hidden>Copy the JSON</button>`)}
<p class="verdict">${resultOf(event)} ${subjectOf(accountId, event)}</p>
${view.isSentAgain ? html`<p class="notice" role="status">The poller publishes it again within seconds, with the same id. Its <code>resources</code> mark it as a replay, which alerts leave out.</p>` : ''}
${facts([
  ['Seen by the bridge', timeAndAge(time, at)],
  ['On the bus', published ? 'The bus has accepted it.' : 'The bus has not accepted it yet.'],
  ['Project', typeof projectId === 'string' ? projectLink(accountId, projectId, names) : undefined],
  ['Event', html`<span class="id">${id}</span>`],
])}
<div class="row">${sendAgain(view)}<a class="button" href="/console/subscribe?detail_type=${encodeURIComponent(detail_type)}${likeIt(event)}">Subscribe to events like this</a></div>
<h2>As it is on the bus</h2>
<div id="json">${json({ source, 'detail-type': detail_type, time, detail })}</div>`;
}

function likeIt({ detail }: FeedEvent): string {
  const fields = (['status', 'action'] as const).filter((name) => typeof detail[name] === 'string');
  return fields.map((name) => `&${name}=${encodeURIComponent(String(detail[name]))}`).join('');
}

/** What the bus has not accepted yet is published in any case. */
function sendAgain({ accountId, event, visitor }: EventView): Html | '' {
  const { caller, session, pepper } = visitor;
  const mayReplay = caller.scopes.has('events:replay') && caller.projectIds === undefined;
  if (!event.published || !mayReplay) return '';
  return html`<form method="post" action="${eventPath(accountId, event)}"><input type="hidden" name="form_key" value="${formKeyOf(session, pepper)}"><button>Send again</button></form>`;
}

export function addSendAgain(app: Hono, deps: VisitorDeps & RefusalDeps & RouteDeps): void {
  for (const path of EVENT_PATHS) app.post(path, forVisitors(deps, publishAgain));
}

async function publishAgain(deps: RefusalDeps & RouteDeps, c: Context, visitor: Visitor): Promise<Response> {
  const { account_id: accountId = '', project_id: projectId } = c.req.param();
  const form = await genuineForm(deps, c, visitor, 'consoleReplay');
  const route = deps.routes.find(({ id }) => id === 'startReplay');
  const mayAct =
    checkReading(deps, visitor, accountId, projectId) &&
    checkScope(deps, visitor, 'events:replay', 'consoleReplay');
  if (form === undefined || route === undefined || !mayAct) return showPage(c, visitor, NOT_DONE);
  const event = await findEvent(visitor, c);
  if (event === undefined) return showPage(c, visitor, KEPT_NO_LONGER);
  const untilMs = Date.parse(event.time) + 1;
  const body = { since: event.time, until: isoTimeOf(untilMs), ids: [event.id] };
  const answer = await deps.call(route, { caller: visitor.caller, ids: {}, body });
  const cameFrom = eventPath(accountId, event);
  return showOutcome(c, visitor, answer, { what: 'The replay', backTo: `${cameFrom}?sent`, cameFrom });
}
