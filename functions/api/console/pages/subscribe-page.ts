/** Shows how to subscribe to the events of a filter: the pattern, tried on recent events, and where to put it. */

import { html } from 'hono/html';
import { EVENT_SOURCE } from '../../../../shared/events/event-names.ts';
import { matchesEventPattern, parseEventPattern } from '../../../../shared/events/pattern/event-pattern.ts';
import { isVisibleTo } from '../../bridge/event-routes.ts';
import type { FeedFilter } from '../../read-model/feed-event.ts';
import type { Html } from '../html/markup.ts';
import type { Visitor } from '../session/visitor.ts';
import type { RefusalDeps } from '../session/visitor-traces.ts';
import { filterForm, filterOf } from './event-filter.ts';
import { type BuildPage, READING_REFUSED } from './page.ts';
import { checkReading } from './permission.ts';

export interface SubscribeDeps extends RefusalDeps {
  readonly busName: string;
}

/** A pattern is tried on this many latest events. */
const TRIED_EVENTS = 200;

export function buildSubscribe(deps: SubscribeDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkReading(deps, visitor, visitor.caller.account_id)) return READING_REFUSED;
    const filter = filterOf(c);
    const pattern = patternOf(filter);
    const tested = await tryOnRecent(visitor, pattern);
    const content = subscribePage({ busName: deps.busName, filter, pattern, tested });
    return { title: 'Subscribe', content };
  };
}

interface Tested {
  readonly matched: number;
  readonly of: number;
}

async function tryOnRecent({ caller, model }: Visitor, pattern: object): Promise<Tested> {
  const parsed = parseEventPattern(JSON.stringify(pattern));
  const { items } = await model.feed.recent({ limit: TRIED_EVENTS });
  const recent = items.filter(isVisibleTo(caller)).slice(0, TRIED_EVENTS);
  const matched = recent.filter(({ source, detail_type, detail }) =>
    matchesEventPattern(parsed, { source, 'detail-type': detail_type, detail }),
  );
  return { matched: matched.length, of: recent.length };
}

function subscribePage(view: {
  readonly busName: string;
  readonly filter: FeedFilter;
  readonly pattern: object;
  readonly tested: Tested;
}): Html {
  const { busName, filter, pattern, tested } = view;
  const text = JSON.stringify(pattern, null, 2);
  const line = JSON.stringify(pattern).replaceAll("'", "'\\''");
  const cli = `aws events put-rule --name my-rule --event-bus-name ${busName} --event-pattern '${line}'`;
  const cdk = `new events.CfnRule(this, 'MyRule', {\n  eventBusName: '${busName}',\n  eventPattern: ${text.replaceAll('\n', '\n  ')},\n  targets: [{ id: 'queue', arn: queue.queueArn }],\n});`;
  return html`<h1>Subscribe</h1>
${filterForm('/console/subscribe', filter, 'Make the pattern')}
<p class="verdict" role="status">The pattern matches ${tested.matched} of the last ${tested.of} events.</p>
${snippet('pattern', 'EventBridge pattern', text)}
${snippet('cdk', 'AWS CDK', cdk)}
${snippet('cli', 'AWS CLI', cli)}
<p class="quiet">EventBridge can deliver an event more than once, so ignore a <code>detail.id</code> that you have seen. The conditions <code>"replay-name": [{"exists": false}]</code> and <code>"resources": [{"exists": false}]</code> leave replays out.</p>`;
}

/** Returns the pattern of an EventBridge rule. An empty filter gives a pattern for every event of the bridge. */
function patternOf({ detail_type, ...rest }: FeedFilter): object {
  const detail = Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value]]])),
  );
  return {
    source: [EVENT_SOURCE],
    ...(detail_type !== undefined && { 'detail-type': [detail_type] }),
    ...(Object.keys(detail).length > 0 && { detail }),
  };
}

function snippet(id: string, title: string, text: string): Html {
  return html`<h2>${title}</h2><pre id="${id}" tabindex="0">${text}</pre><button type="button" data-copy="${id}" hidden>Copy</button>`;
}
