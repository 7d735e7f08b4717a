/**
 * Shows how to subscribe: what people want to get, how the last events would have done, the complete file, and a test
 * event.
 */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import type { FeedEvent } from '../../read-model/feed-event.ts';
import { empty, type Html } from '../html/markup.ts';
import { eventTable } from '../html/record/event-table.ts';
import type { PageTime } from '../html/time/times.ts';
import { type BuildPage, pageTimeOf, READING_REFUSED } from '../pages/page.ts';
import { checkReading } from '../pages/permission.ts';
import { formKey } from '../session/session.ts';
import type { Visitor } from '../session/visitor.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import { type ChosenSubscription, chosenSubscription, matchedBy } from './chosen-subscription.ts';
import { choiceOf, queryOfChoice, type SubscriptionChoice } from './subscription-choice.ts';
import { subscriptionForm } from './subscription-form.ts';

export interface SubscribeDeps extends RefusalDeps {
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
    return { title: 'Subscribe', content };
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
    model.feed.recent({ limit: TRIED_EVENTS }),
    model.projectNames(),
  ]);
  const recent = items.filter(isVisibleTo(visitor.caller)).slice(0, TRIED_EVENTS);
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
${testing(c, visitor, { choice, query })}
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

function testing(
  c: Context,
  visitor: Visitor,
  { choice, query }: { readonly choice: SubscriptionChoice; readonly query: string },
): Html {
  if (!choice.takesTests)
    return empty(
      'This subscription takes no test events. Tick "test events, too" above to be able to try it.',
    );
  if (!mayTest(visitor))
    return empty(
      'Your token may not publish test events: that needs the scope events:trigger, for all projects.',
    );
  const sent = /^[0-9a-f]{32}$/.exec(c.req.query('sent') ?? '')?.[0];
  return html`${sent === undefined ? '' : html`<p class="notice" role="status">The bus has accepted the test event <code>${sent}</code>. It reaches each deployed rule that takes it within seconds.</p>`}
<p>Once the file is deployed, publish an event that it takes. Its source is <code>operations-bridge.test</code>, and it raises no alert. Every subscriber who takes test events gets it.</p>
<form method="post" action="/console/subscribe/test"><input type="hidden" name="form_key" value="${formKey(visitor.session, visitor.pepper)}"><input type="hidden" name="choice" value="${query}"><button>Send a test event</button></form>`;
}
