/**
 * Shows what people were told and when: how each channel does, what waits there, a button that tries it, and the latest alerts with
 * what the channel answered.
 */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { DEAF_MS, deafMsOf } from '../../../../shared/alerts/incidents.ts';
import { type Caller, maySee } from '../../../../shared/callers/scopes.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { type ChannelStanding, LISTED_ALERTS_MAX, type ToldAlert } from '../../read-model/alerts.ts';
import { empty, type Html, operationPath, stateBadge } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { age, type PageTime, timeAndAge } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  NOT_DONE,
  pageTimeOf,
  READING_REFUSED,
  showPage,
} from './page.ts';
import { genuineForm, type RouteDeps, showOutcome } from './visitor-calls.ts';

export interface AlertsDeps extends RefusalDeps, RouteDeps {
  /** Resolves to the standing of every kind of channel. */
  readonly channelStandings: () => Promise<readonly ChannelStanding[]>;
  readonly clock: Clock;
}

/** All channels together. The list of each one is as long. */
const TOLD_PER_PAGE = LISTED_ALERTS_MAX;

export function buildAlerts(deps: AlertsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model, session, pepper } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const [channels, names] = await Promise.all([deps.channelStandings(), model.projectNames()]);
    const key = mayTry(caller) ? formKey(session, pepper) : undefined;
    const told = channels.flatMap((channel) => channel.told.filter(({ notice }) => isAbout(caller, notice)));
    const latest = told.toSorted((one, other) => other.outcome_at_ms - one.outcome_at_ms);
    const at = pageTimeOf(c, deps.clock);
    const content = html`<h1>Alerts</h1>
<h2 id="channels">Channels</h2>
${channelTable(channels, { key, seesAll: caller.projectIds === undefined, at })}
<h2>What was told</h2>
${latest.length === 0 ? empty(`None of the latest ${LISTED_ALERTS_MAX} alerts of each channel is about what you may see.`) : toldTable(latest.slice(0, TOLD_PER_PAGE), names, at)}
<p class="quiet">The page looks at the latest ${LISTED_ALERTS_MAX} alerts of each channel, and shows ${TOLD_PER_PAGE} at most. Alerts are kept for 40 days. A digest counts as one line for each of its alerts.</p>`;
    return { title: 'Alerts', about: 'time', content };
  };
}

/** Channels belong to the whole bridge, and a test rings people. */
function mayTry({ scopes, projectIds }: Caller): boolean {
  return scopes.has('alerts:mute') && projectIds === undefined;
}

function isAbout(caller: Caller, { account_id, project_id }: ToldAlert['notice']): boolean {
  if (account_id !== caller.account_id) return false;
  return project_id === undefined ? caller.projectIds === undefined : maySee(caller, project_id);
}

interface ChannelView {
  /** The visitor sees the button that tries a channel only with this key. */
  readonly key: string | undefined;
  /** It is false when the visitor sees some projects only, and so no counts of all. */
  readonly seesAll: boolean;
  readonly at: PageTime;
}

function channelTable(channels: readonly ChannelStanding[], view: ChannelView): Html {
  const { key, at } = view;
  return html`<table class="stack"><thead><tr><th>Channel</th><th>State</th><th>Last success</th><th>Waiting</th><th>Try it</th></tr></thead>
<tbody>${channels.map((channel) => {
    const { told } = channel;
    const last = told.find(({ outcome }) => outcome === 'reported')?.outcome_at_ms;
    const none = told.length === 0 ? 'none in 40 days' : `none among the latest ${LISTED_ALERTS_MAX}`;
    return html`<tr id="channel-${channel.channel}"><td><b>${channel.channel}</b></td><td>${stateOf(channel, at)}</td>
<td data-label="Last success">${last === undefined ? html`<span class="quiet">${none}</span>` : timeAndAge(isoTimeOf(last), at)}</td>
<td data-label="Waiting">${waitingOf(channel, view)}</td>
<td>${key === undefined ? html`<span class="quiet">needs alerts:mute</span>` : html`<form method="post" action="/console/alerts/${channel.channel}/test"><input type="hidden" name="form_key" value="${key}"><button>Send a test<span class="only-read"> on ${channel.channel}</span></button></form>`}</td></tr>`;
  })}</tbody></table>
<p class="quiet">A test rings people, within a minute, and says that nothing has happened. Alerts that wait may be muted, or gathered with others.</p>`;
}

function waitingOf({ waitingCount, oldestWaitingAt }: ChannelStanding, { seesAll, at }: ChannelView): Html {
  if (!seesAll) return html`<span class="quiet">needs all projects</span>`;
  if (waitingCount === 0) return html`<span class="quiet">nothing</span>`;
  const atLeast = waitingCount >= LISTED_ALERTS_MAX ? 'at least ' : '';
  return html`${atLeast}${counted(waitingCount, 'alert')}, the oldest for ${age(oldestWaitingAt, at).replace(' ago', '')}`;
}

function stateOf({ waitingSinceMs, lastReason, told }: ChannelStanding, at: PageTime): Html {
  const deafMs = deafMsOf({ waiting_since_ms: waitingSinceMs }, at.nowMs);
  const since = waitingSinceMs === undefined ? '' : timeAndAge(isoTimeOf(waitingSinceMs), at);
  const answer = (reason: string | undefined) =>
    reason === undefined ? '' : html`<br><span class="quiet">answer: ${reason}</span>`;
  if (deafMs >= DEAF_MS)
    return html`${stateBadge('bad', '▲', 'takes nothing')} since ${since}${answer(lastReason)}`;
  if (deafMs > 0) return html`${stateBadge('busy', '◐', 'tries again')}${answer(lastReason)}`;
  const [latest] = told;
  if (latest === undefined) return stateBadge('odd', '?', 'not used yet, or not set up');
  return latest.outcome === 'refused'
    ? html`${stateBadge('bad', '▲', 'refused its latest alert')}${answer(latest.reason)}`
    : stateBadge('good', '●', 'works');
}

/** The words for kinds of alerts that do not say it themselves. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  given_up: 'failed and given up',
  stalled: 'takes too long',
  stall_ended: 'ended after taking too long',
  attempt_failed: 'an attempt failed',
  moved: 'its project moved to another account',
  first_sight: 'the bridge watches the account',
  digest: 'failures that ended by themselves',
  channel_deaf: 'a channel takes nothing',
  channel_back: 'a channel works again',
};

const TONES = { critical: 'bad', warning: 'busy', info: 'calm' } as const;

function toldTable(told: readonly ToldAlert[], names: ReadonlyMap<string, string>, at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>When</th><th>Channel</th><th>What</th><th>Project</th><th>Answer</th></tr></thead>
<tbody>${told.map(
    ({
      channel,
      outcome,
      outcome_at_ms,
      reason,
      notice,
    }) => html`<tr><td>${timeAndAge(isoTimeOf(outcome_at_ms), at)}</td>
<td>${channel}</td><td>${whatOf(notice)}</td>
<td>${notice.project_id === undefined ? html`<span class="quiet">the account</span>` : projectLink(notice.account_id, notice.project_id, names)}</td>
<td>${outcome === 'reported' ? stateBadge('good', '●', 'accepted') : html`${stateBadge('bad', '▲', 'refused')} <span class="quiet">${reason ?? ''}</span>`}</td></tr>`,
  )}</tbody></table>`;
}

function whatOf({
  kind,
  severity,
  account_id,
  project_id,
  operation_id,
  action,
  error,
  is_test,
}: ToldAlert['notice']): Html {
  const words = is_test ? 'a test of the channel' : (KIND_WORDS[kind] ?? kind.replaceAll('_', ' '));
  const subject =
    action === undefined || is_test
      ? ''
      : project_id === undefined || operation_id === undefined
        ? html`${action} `
        : html`<a href="${operationPath(account_id, project_id, operation_id)}">${action}</a> `;
  return html`${subject}<span class="${is_test ? 'calm' : TONES[severity]}">${words}</span>${error === undefined ? '' : html`<br><span class="quiet">${error}</span>`}`;
}

export function addChannelTest(app: Hono, deps: VisitorDeps & AlertsDeps): void {
  app.post('/alerts/:channel/test', forVisitors(deps, sendTest));
}

async function sendTest(deps: AlertsDeps, c: Context, visitor: Visitor): Promise<Response> {
  const form = await genuineForm(deps, c, visitor, 'consoleTestChannel');
  const route = deps.routes.find(({ id }) => id === 'testChannel');
  const isAllowed = checkScope(deps, visitor, 'alerts:mute', 'consoleTestChannel') && mayTry(visitor.caller);
  if (form === undefined || route === undefined || !isAllowed) return showPage(c, visitor, NOT_DONE);
  const channel = c.req.param('channel') ?? '';
  const answer = await deps.call(route, { caller: visitor.caller, ids: { channel } });
  const done = `A test goes out on ${channel} within a minute.`;
  return showOutcome(c, visitor, answer, { what: 'The test', backTo: '/console/alerts', done });
}
