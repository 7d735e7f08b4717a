/** Serves the file of a subscription to download, and the button that publishes a test event for it. */

import { createHash } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { messagePage, NOTHING_HERE, READING_REFUSED, showPage, showSignIn } from './pages/page.ts';
import { checkReading, checkScope } from './pages/permission.ts';
import type { RouteDeps } from './pages/upstream-view.ts';
import { type Visitor, type VisitorDeps, visitorOf } from './session/visitor.ts';
import { chosenSubscription } from './subscribe/chosen-subscription.ts';
import { mayTest, type SubscribeDeps } from './subscribe/subscribe-page.ts';
import { choiceOf, queryOfChoice } from './subscribe/subscription-choice.ts';
import { testEventFor } from './subscribe/test-event.ts';
import { genuineForm, showOutcome } from './visitor-command.ts';

export type SubscribeActionDeps = VisitorDeps & RouteDeps & SubscribeDeps;

const NOT_SENT = messagePage(
  'Not sent',
  'The form did not come from a page of this session, or your token does not allow this. No event was published.',
  403,
);

export function addSubscribeActions(app: Hono, deps: SubscribeActionDeps): void {
  app.get('/subscribe/file', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : download(deps, c, visitor);
  });
  app.post('/subscribe/test', async (c) => {
    const visitor = await visitorOf(deps, c);
    return visitor === undefined ? showSignIn(c) : sendTestEvent(deps, c, visitor);
  });
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
  const backTo = `/console/subscribe?${queryOfChoice(choice)}&sent=${id}#test`;
  return showOutcome(c, visitor, answer, { what: 'The test event', backTo });
}
