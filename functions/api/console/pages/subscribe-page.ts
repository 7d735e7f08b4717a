/**
 * Shows how to subscribe: what people want to get, how the last events would have done, and the complete file, to see
 * and to download. A button publishes a test event for the subscription.
 */

import { createHash } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import {
  FILE_FORMS,
  SUBJECT_NAMES,
  type SubjectName,
  subjectOf,
  TARGET_KINDS,
} from '../../../../shared/events/subscription/subscription.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import type { FollowedAnswer } from '../../bridge/subscription-routes.ts';
import { eventIdOfBus, type FollowedDelivery } from '../../read-model/bus-log.ts';
import type { FeedEvent } from '../../read-model/event-feed.ts';
import type { SubscriptionsAnswer } from '../../read-model/subscriptions.ts';
import { empty, type Html } from '../html/markup.ts';
import { eventTable } from '../html/records.ts';
import type { PageTime } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps, Visitor, VisitorDeps } from '../sign-in/visitor.ts';
import {
  type BuildPage,
  checkReading,
  checkScope,
  forVisitors,
  messagePage,
  NOTHING_HERE,
  pageTimeOf,
  READING_REFUSED,
  showPage,
} from './page.ts';
import {
  type ChosenSubscription,
  choiceOf,
  chosenSubscription,
  defaultNameOf,
  matchedBy,
  queryOfChoice,
  rulesTaking,
  type SubscriptionChoice,
  testEventFor,
} from './subscription.ts';
import { genuineForm, type RouteDeps, readBridge, showOutcome } from './visitor-calls.ts';

export interface SubscribeDeps extends RefusalDeps, RouteDeps {
  readonly busName: string;
  readonly clock: Clock;
}

/** A pattern is tried on this many latest events. */
const TRIED_EVENTS = 200;

/** The page shows this many of those that match, which is enough to see what they are like. */
const SHOWN_EVENTS = 5;

export function buildSubscribe(deps: SubscribeDeps): BuildPage {
  return async (c, visitor) => {
    const { caller } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const choice = choiceOf(new URL(c.req.url).searchParams, caller.account_id);
    const chosen = chosenSubscription(choice, deps.busName);
    const content = html`<h1>Subscribe</h1>
<p>Choose what a subscriber gets. The page makes one complete file of it: the rule, the target, the permission to send there, the dead-letter queue and the retries.</p>
${choice.isWider ? html`<p class="notice">No subscription has exactly these events. This one has every event; the consumer can select by <code>detail-type</code>.</p>` : ''}
${subscriptionForm(choice)}
${chosen.kind === 'faulty' ? faultList(chosen.faults) : await subscriptionOf(c, visitor, { choice, chosen, deps })}`;
    return { title: 'Subscribe', section: '/console/subscriptions', content };
  };
}

/** Only the bus knows who subscribes, and a caller who is limited to projects must not send to all of them. */
export function mayTest({ caller }: Visitor): boolean {
  return caller.scopes.has('events:trigger') && caller.projectIds === undefined;
}

function faultList(faults: readonly string[]): Html {
  return html`<div class="notice bad" role="alert">${faults.map((fault) => html`<p>${fault}</p>`)}</div>`;
}

interface Shown {
  readonly choice: SubscriptionChoice;
  readonly chosen: Extract<ChosenSubscription, { readonly kind: 'usable' }>;
  readonly deps: SubscribeDeps;
}

async function subscriptionOf(c: Context, visitor: Visitor, { choice, chosen, deps }: Shown): Promise<Html> {
  const { summary, pattern, file } = chosen;
  const { model } = visitor;
  const [{ items }, names] = await Promise.all([
    model.feed.recent({ limit: TRIED_EVENTS, isVisible: isVisibleTo(visitor.caller) }),
    model.projectNames(),
  ]);
  const recent = items.slice(0, TRIED_EVENTS);
  const at = pageTimeOf(c, deps.clock);
  const query = queryOfChoice(choice);
  return html`<p class="notice">${summary}</p>
<h2>On the last events</h2>
${preview({ accountId: model.accountId, names }, { matched: matchedBy(pattern, recent), of: recent.length, at })}
<h2>The file <code>${file.fileName}</code></h2>
<p class="row"><a class="button" href="/console/subscribe/file?${query}" download>Download</a> <button type="button" data-copy="file" hidden>Copy</button></p>
<pre id="file" tabindex="0">${file.text}</pre>
<h2>Deploy it</h2>
${file.deploy.some((line) => line.includes('<')) ? html`<p>Replace the words in angle brackets.</p>` : ''}
<pre id="deploy" tabindex="0">${file.deploy.join('\n')}</pre><button type="button" data-copy="deploy" hidden>Copy</button>
<h2 id="test">Try it</h2>
${await testing(c, visitor, { choice, query, deps })}
<details><summary>The pattern alone</summary><pre id="pattern" tabindex="0">${JSON.stringify(pattern, null, 2)}</pre></details>
<p class="quiet">EventBridge can deliver an event more than once, so a consumer ignores a <code>detail.id</code> that it has dealt with.</p>`;
}

function preview(
  account: { readonly accountId: string; readonly names: ReadonlyMap<string, string> },
  { matched, of, at }: { readonly matched: readonly FeedEvent[]; readonly of: number; readonly at: PageTime },
): Html {
  return html`<p class="verdict" role="status">It would have delivered ${matched.length} of the last ${of} events.</p>
${matched.length === 0 ? empty('None of them matches. The next one may.') : eventTable(account, matched.slice(0, SHOWN_EVENTS), at)}`;
}

interface Tested {
  readonly choice: SubscriptionChoice;
  readonly query: string;
  readonly deps: SubscribeDeps;
}

async function testing(c: Context, visitor: Visitor, { choice, query, deps }: Tested): Promise<Html> {
  if (!choice.takesTests)
    return empty(
      'This subscription takes no test events. Tick "test events, too" above to be able to try it.',
    );
  if (!mayTest(visitor))
    return empty(
      'Your token may not publish test events: that needs the scope events:trigger, for all projects.',
    );
  const sent = /^[0-9a-f]{32}$/.exec(c.req.query('sent') ?? '')?.[0];
  const eventId = eventIdOfBus.safeParse(c.req.query('event')).data;
  const trail =
    sent === undefined || eventId === undefined ? undefined : await followed(c, visitor, { eventId, deps });
  return html`${sent === undefined ? '' : html`<p class="notice" role="status">The bus has accepted the test event <code>${sent}</code>. ${trail === undefined ? await takersWords(deps, visitor, choice) : ''}</p>${trail ?? ''}`}
<p>Once the file is deployed, publish an event that it takes. Its source is <code>operations-bridge.test</code>, and it raises no alert. Every subscriber who takes test events gets it.</p>
<form method="post" action="/console/subscribe/test"><input type="hidden" name="form_key" value="${formKey(visitor.session, visitor.pepper)}"><input type="hidden" name="choice" value="${query}"><button>Send a test event</button></form>`;
}

/** Says which rules take the test event. Only the log of the bus says what became of one event. */
async function takersWords(
  deps: SubscribeDeps,
  { caller }: Visitor,
  choice: SubscriptionChoice,
): Promise<Html> {
  const answer = await readBridge(deps, 'listSubscriptions', { caller, ids: {} }).catch(() => undefined);
  const { rules = [], faults = [] } = (answer ?? {}) as Partial<SubscriptionsAnswer>;
  if (answer === undefined || faults.length > 0) return html`Which rules take it cannot be read now.`;
  const takers = rulesTaking(rules, choice.subscription, caller.account_id);
  if (takers.length === 0)
    return html`No rule that was on the bus a minute ago takes it, so nobody gets it until the file is deployed.`;
  const links = takers.map(({ name }) => html`<a href="/console/subscriptions#rule-${name}">${name}</a> `);
  return html`These rules take it: ${links}. That EventBridge has invoked them shows in their figures within two minutes; what a target has made of it, only its consumer knows.`;
}

/** Resolves to undefined when the bus has no log. */
async function followed(
  c: Context,
  { caller }: Visitor,
  { eventId, deps }: { readonly eventId: string; readonly deps: SubscribeDeps },
): Promise<Html | undefined> {
  const ids = { event_id: eventId };
  const answer = (await readBridge(deps, 'followTestEvent', { caller, ids })) as FollowedAnswer | undefined;
  if (answer === undefined || answer.log === 'off') return undefined;
  if (answer.log === 'unread')
    return html`<p class="notice bad">The log of the bus cannot be read (${answer.reason ?? 'no answer'}).</p>`;
  const { pathname, search } = new URL(c.req.url);
  const again = html`<p class="quiet">This is what the log of the bus has so far; it can be a minute late. <a class="button" href="${pathname}${search}#test">Look again</a></p>`;
  const { received = false, deliveries = [] } = answer;
  if (deliveries.length === 0)
    return html`${empty(received ? 'The log has the event, and no delivery of it to a subscriber.' : 'The log does not have the event yet.')}${again}`;
  return html`<table class="stack" id="followed"><thead><tr><th>Rule</th><th>Target</th><th>What became of the test event</th></tr></thead>
<tbody>${deliveries.map(followedRow)}</tbody></table>${again}`;
}

/** The mark is for people who cannot distinguish the colours. */
const STEP_BADGES: Readonly<
  Record<FollowedDelivery['step'], readonly [tone: string, mark: string, word: string]>
> = {
  matched: ['calm', '○', 'matched, not delivered yet'],
  repeating: ['busy', '◐', 'failed, will be repeated'],
  delivered: ['good', '●', 'delivered'],
  failed: ['bad', '▲', 'given up'],
  dead_letter: ['bad', '▲', 'given up, in the dead-letter queue'],
};

function followedRow({ rule, target_arn, step, error }: FollowedDelivery): Html {
  const [tone, mark, word] = STEP_BADGES[step];
  return html`<tr><td><a href="/console/subscriptions#rule-${rule}">${rule}</a></td>
<td data-label="Target"><span class="id">${target_arn}</span></td>
<td><span class="badge ${tone}"><span aria-hidden="true">${mark}</span> ${word}</span>${error === undefined ? '' : html`<p class="quiet">${error}</p>`}</td></tr>`;
}

const FORM_TITLES: Readonly<Record<keyof typeof FILE_FORMS, string>> = {
  cdk: 'AWS CDK (TypeScript)',
  cloudformation: 'CloudFormation (YAML)',
  terraform: 'Terraform',
  cli: 'AWS CLI (a script)',
};

/** The form leads to the same page, whose address then has the choice. */
function subscriptionForm(choice: SubscriptionChoice): Html {
  const { subscription, target, form, name, takesTests } = choice;
  const { projects, actions, statuses, accounts, replays } = subscription;
  const defaultName = defaultNameOf(choice);
  return html`<form method="get" action="/console/subscribe">
<fieldset class="choices"><legend>The subscriber gets</legend><div class="wide">${SUBJECT_NAMES.map((subject) => subjectOption(subject, subscription.subject))}</div></fieldset>
<fieldset class="choices"><legend>Which of them</legend><div class="row">
${field('project', 'Projects', projects)}${field('action', 'Actions', actions)}${field('status', 'Statuses, states or outcomes', statuses)}</div>
<p class="quiet">Separate several values by commas. An empty field limits nothing.</p>
${box('own_account', 'only this account', accounts.length > 0)}
${box('no_replays', 'no copies of past events, which a replay sends', replays === 'left_out')}
${box('tests', 'test events, too, by their own source operations-bridge.test', takesTests)}</fieldset>
<fieldset class="choices"><legend>Delivered to</legend><div class="row">
<div><label for="target">Target</label><select id="target" name="target">${Object.entries(TARGET_KINDS).map(([value, meaning]) => option(value, meaning, target))}</select></div>
<div><label for="form">File</label><select id="form" name="form">${Object.keys(FILE_FORMS).map((value) => option(value, FORM_TITLES[value as keyof typeof FILE_FORMS], form))}</select></div>
<div><label for="name">Name</label><input id="name" name="name" value="${name === defaultName ? '' : name}" placeholder="${defaultName}" size="24" maxlength="40" pattern="[A-Za-z](-?[A-Za-z0-9])*" title="Letters, digits and single dashes"></div></div></fieldset>
<p><button class="do">Show the subscription</button></p></form>`;
}

function subjectOption(subject: SubjectName, chosen: SubjectName): Html {
  return html`<label><input type="radio" name="subject" value="${subject}"${subject === chosen ? html` checked` : ''}> <b>${titleOf(subject)}</b> <span class="quiet">${subjectOf(subject).meaning}</span></label>`;
}

/** Returns the name in words: "Ready branches". */
function titleOf(subject: SubjectName): string {
  const words = subject.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function field(name: string, label: string, values: readonly string[]): Html {
  return html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${values.join(', ')}" size="26" autocomplete="off" spellcheck="false"></div>`;
}

function box(name: string, meaning: string, isTicked: boolean): Html {
  return html`<label><input type="checkbox" name="${name}"${isTicked ? html` checked` : ''}> ${meaning}</label>`;
}

function option(value: string, meaning: string, chosen: string): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${meaning}</option>`;
}

export type SubscribeActionDeps = VisitorDeps & SubscribeDeps;

const NOT_SENT = messagePage(
  'Not sent',
  'The form did not come from a page of this session, or your token does not allow this. No event was published.',
  403,
);

export function addSubscribeActions(app: Hono, deps: SubscribeActionDeps): void {
  app.get('/subscribe/file', forVisitors(deps, download));
  app.post('/subscribe/test', forVisitors(deps, sendTestEvent));
}

function download(deps: SubscribeActionDeps, c: Context, visitor: Visitor) {
  const { account_id } = visitor.caller;
  if (!checkReading(deps, visitor, account_id)) return showPage(c, visitor, READING_REFUSED);
  const choice = choiceOf(new URL(c.req.url).searchParams, account_id);
  const chosen = chosenSubscription(choice, deps.busName);
  if (chosen.kind === 'faulty') return showPage(c, visitor, NOTHING_HERE);
  const { fileName, text } = chosen.file;
  return c.body(text, 200, {
    'content-type': 'text/plain; charset=utf-8',
    // The name has letters, digits and dashes alone, so it needs no encoding (RFC 6266).
    'content-disposition': `attachment; filename="${fileName}"`,
  });
}

async function sendTestEvent(deps: SubscribeActionDeps, c: Context, visitor: Visitor): Promise<Response> {
  const { caller } = visitor;
  const form = await genuineForm(deps, c, visitor, 'consoleTestEvent');
  const route = deps.routes.find(({ id }) => id === 'triggerTestEvent');
  const mayAct = checkScope(deps, visitor, 'events:trigger', 'consoleTestEvent') && mayTest(visitor);
  const choice = choiceOf(new URLSearchParams(form?.get('choice') ?? ''), caller.account_id);
  const isUsable = chosenSubscription(choice, deps.busName).kind === 'usable';
  if (form === undefined || route === undefined || !mayAct || !isUsable)
    return showPage(c, visitor, NOT_SENT);
  const id = createHash('sha256').update(deps.newId()).digest('hex').slice(0, 32);
  const body = { ...testEventFor(choice.subscription, { id, observedAt: isoTimeOf(deps.clock.now()) }) };
  const answer = await deps.call(route, { caller, ids: {}, body });
  const eventId = eventIdOfBus.safeParse(Object(answer.body)['event_id']).data;
  const follow = eventId === undefined ? '' : `&event=${eventId}`;
  const backTo = `/console/subscribe?${queryOfChoice(choice)}&sent=${id}${follow}#test`;
  return showOutcome(c, visitor, answer, { what: 'The test event', backTo });
}
