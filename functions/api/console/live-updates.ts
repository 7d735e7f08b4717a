/** Answers what an open page asks every few seconds: whether there was an event about it since its cursor. */

import type { Hono } from 'hono';
import { isVisibleTo } from '../bridge/event-routes.ts';
import { checkReading } from './pages/permission.ts';
import { type VisitorDeps, visitorOf } from './session/visitor.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';

export function addLiveUpdates(app: Hono, deps: VisitorDeps & RefusalDeps): void {
  app.get('/live', async (c) => {
    const visitor = await visitorOf(deps, c);
    if (visitor === undefined) return c.json({ problem: 'signed out' }, 401);
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id))
      return c.json({ problem: 'operations:read is needed' }, 403);
    const about = c.req.query('about') ?? '*';
    const { events, cursor } = await model.feed.since(c.req.query('cursor') ?? model.feed.start('now'));
    const isAbout = (detail: Readonly<Record<string, unknown>>) =>
      about === '*' || detail['project_id'] === about || detail['operation_id'] === about;
    const changed = events.filter(isVisibleTo(caller)).some(({ detail }) => isAbout(detail));
    return c.json({ cursor, changed });
  });
}
