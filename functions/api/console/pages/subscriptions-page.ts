/**
 * Lists the rules of the bus with their targets: whether each subscriber gets its events, by EventBridge's own figures, and what
 * lies in the dead-letter queues. A button publishes a test event.
 */

import { html } from 'hono/html';
import { counted } from '../../../../shared/runtime/counted.ts';
import type { ShownRule, SubscriptionsAnswer } from '../../read-model/subscriptions.ts';
import { empty, type Html, json, pageHead } from '../html/markup.ts';
import { type PageTime, time, timeAndAge } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import { type BuildPage, checkReading, messagePage, pageTimeOf, READING_REFUSED } from './page.ts';
import { mayTest, type SubscribeDeps } from './subscribe-page.ts';
import { readBridge } from './visitor-calls.ts';

export type SubscriptionsDeps = SubscribeDeps;

const NO_ACCESS = messagePage(
  'No access',
  'Rules of the bus concern all projects, and your token is limited to some.',
  403,
);

export function buildSubscriptions(deps: SubscriptionsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, session, pepper } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const answer = await readBridge(deps, 'listSubscriptions', { caller, ids: {} });
    if (answer === undefined) return NO_ACCESS;
    const at = pageTimeOf(c, deps.clock);
    const key = mayTest(visitor) ? formKey(session, pepper) : undefined;
    return {
      title: 'Subscriptions',
      about: 'time',
      content: subscriptionsPage(answer as SubscriptionsAnswer, key, at),
    };
  };
}

function subscriptionsPage(answer: SubscriptionsAnswer, key: string | undefined, at: PageTime): Html {
  const { bus, rules, further_rule_count, faults, read_at } = answer;
  const troubled = rules.filter(({ verdict }) => IN_TROUBLE.includes(verdict)).length;
  return html`${pageHead('Subscriptions', html`<a class="button" href="/console/subscribe">Subscribe</a>`)}
<p class="verdict" role="status">${verdictOf(rules.length, troubled)}</p>
${faults.map((fault) => html`<p class="notice bad" role="alert">${fault}</p>`)}
${rules.length === 0 ? empty('Nobody subscribes to the bus, as far as the bridge can see.') : ruleTable(rules, at)}
${further_rule_count === 0 ? '' : html`<p class="quiet">The bus has ${counted(further_rule_count, 'further rule')}, which this page does not look at.</p>`}
<p class="quiet">The bus is <code>${bus}</code>. The figures are EventBridge's own, of the last 24 hours, and a minute or two late; this page asks for them at most once a minute, last ${time(read_at, at)}. They say what a target has taken, and not what its consumer has made of it.</p>
<h2 id="test">Test event</h2>
${key === undefined ? empty('Your token may not publish test events: that needs the scope events:trigger, for all projects.') : testForm(key)}`;
}

const IN_TROUBLE: readonly string[] = ['failing', 'without_target', 'repeating'];

function verdictOf(ruleCount: number, troubledCount: number): string {
  if (ruleCount === 0) return 'There is no rule to look at.';
  if (troubledCount === 0) return `${counted(ruleCount, 'rule')}; none of them is in trouble.`;
  return `${troubledCount} of ${counted(ruleCount, 'rule')} ${troubledCount === 1 ? 'is' : 'are'} in trouble.`;
}

/** The mark is for people who cannot distinguish the colours. */
const BADGES: Readonly<Record<ShownRule['verdict'], readonly [tone: string, mark: string, word: string]>> = {
  failing: ['bad', '▲', 'failing'],
  repeating: ['busy', '◐', 'repeating'],
  without_target: ['bad', '▲', 'no target'],
  disabled: ['calm', '○', 'disabled'],
  unknown: ['odd', '?', 'not known'],
  quiet: ['calm', '○', 'no event yet'],
  delivers: ['good', '●', 'delivers'],
};

function ruleTable(rules: readonly ShownRule[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Rule</th><th>State</th><th class="number">Sent</th><th class="number">Failed</th><th>Targets and their dead letters</th></tr></thead>
<tbody>${rules.map((rule) => ruleRow(rule, at))}</tbody></table>`;
}

function ruleRow(rule: ShownRule, at: PageTime): Html {
  const { name, description, managed_by, verdict, reasons, advice, pattern, figures } = rule;
  const [tone, mark, word] = BADGES[verdict];
  const isBad = IN_TROUBLE.includes(verdict);
  return html`<tr id="rule-${name}"><td><b>${name}</b>${managed_by === undefined ? '' : html` <span class="quiet">of ${managed_by}</span>`}${description === undefined ? '' : html`<br><span class="quiet">${description}</span>`}
<details id="pattern-${name}"><summary>Pattern</summary>${json(pattern)}</details></td>
<td><span class="badge ${tone}"><span aria-hidden="true">${mark}</span> ${word}</span>${isBad ? html`<p class="bad">${reasons.join(' ')}</p>` : ''}${isBad && advice !== undefined ? html`<p class="quiet">${advice}</p>` : ''}</td>
<td class="number" data-label="Sent">${figures?.invoked_count ?? '?'}</td>
<td class="number" data-label="Failed">${failures(figures, at)}</td>
<td>${targetList(rule)}</td></tr>`;
}

function failures(figures: ShownRule['figures'], at: PageTime): Html {
  if (figures === undefined) return html`?`;
  const { failed_count, dead_letter_count, last_failed_at } = figures;
  const count = Math.max(failed_count, dead_letter_count);
  if (count === 0) return html`<span class="quiet">0</span>`;
  return html`<span class="bad">${count}</span>${last_failed_at === undefined ? '' : html`<br><span class="quiet">last about ${timeAndAge(last_failed_at, at)}</span>`}`;
}

function targetList({ targets, managed_by }: ShownRule): Html {
  if (targets === undefined) return html`<span class="quiet">not known: its targets could not be read</span>`;
  if (targets.length === 0)
    return html`<span class="quiet">${managed_by === undefined ? 'none' : `a part of ${managed_by}`}</span>`;
  return html`<ul class="plain">${targets.map(
    ({ arn, dead_letter_queue: queue }) =>
      html`<li><span class="id">${arn}</span><br>${
        queue === undefined
          ? html`<span class="busy">no dead-letter queue: what the target does not take is lost</span>`
          : html`<span class="quiet">dead letters: <span class="id">${queue.arn.split(':').at(-1)}</span>, ${queue.message_count === undefined ? (queue.unseen ?? '') : queue.message_count === 0 ? 'empty' : html`<b class="bad">${counted(queue.message_count, 'message')}</b>`}</span>`
      }</li>`,
  )}</ul>`;
}

function testForm(key: string): Html {
  return html`<p>A test event has the source <code>operations-bridge.test</code> and raises no alert. Rules that take that source are sent it; that one was sent shows in the figures within two minutes; the page after the button names them. To test one subscription, use its <a href="/console/subscribe">page</a>.</p>
<form method="post" action="/console/subscribe/test"><input type="hidden" name="form_key" value="${key}"><input type="hidden" name="choice" value="subject=everything&amp;tests=on"><button>Send a test event</button></form>`;
}
