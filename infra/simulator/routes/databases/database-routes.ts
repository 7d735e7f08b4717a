/** Adds the routes of databases: list, create, get, update, delete. */

import type { Hono } from 'hono';
import * as z from 'zod';
import type { ContentChange, ContentPlace } from '../../world/databases/change-content.ts';
import * as commands from '../../world/databases/database-commands.ts';
import { contentAt, type Database } from '../../world/state/branch-content.ts';
import type { Outcome } from '../../world/state/outcome.ts';
import { inBranch } from '../find-project.ts';
import { parseBody } from '../request-body.ts';
import { startedRows } from '../rows.ts';
import { refusal, refuse, type UpstreamContext, type UpstreamEnv } from '../upstream-context.ts';
import { databaseRow } from './content-rows.ts';
import { postgresName } from './postgres-name.ts';

const DATABASES_PATH = '/api/v2/projects/:project_id/branches/:branch_id/databases';
const DATABASE_PATH = `${DATABASES_PATH}/:database_name`;
const createBody = z.object({ database: z.object({ name: postgresName, owner_name: postgresName }) });
const updateBody = z.object({
  database: z.object({ name: postgresName.optional(), owner_name: postgresName.optional() }),
});

export function addDatabaseRoutes(app: Hono<UpstreamEnv>): void {
  addReadingRoutes(app);
  app.post(DATABASES_PATH, async (c) => {
    const parsed = await parseBody(c, createBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { name, owner_name: ownerName } = parsed.body.database;
    return act(c, (place) => commands.createDatabase(place, { name, ownerName }), 201);
  });
  app.patch(DATABASE_PATH, async (c) => {
    const parsed = await parseBody(c, updateBody);
    if (parsed.kind === 'refused') return parsed.response;
    const { name, owner_name: ownerName } = parsed.body.database;
    return act(c, (place) => commands.updateDatabase(place, databaseNameOf(c), { name, ownerName }));
  });
  app.delete(DATABASE_PATH, (c) => act(c, (place) => commands.deleteDatabase(place, databaseNameOf(c))));
}

function addReadingRoutes(app: Hono<UpstreamEnv>): void {
  app.get(DATABASES_PATH, (c) =>
    inBranch(c, ({ branch, nowMs }) => {
      const { databases } = contentAt(branch.contents, nowMs);
      return c.json({ databases: databases.map((database) => databaseRow(branch.id, database)) });
    }),
  );
  app.get(DATABASE_PATH, (c) =>
    inBranch(c, (place) => {
      const database = commands.findDatabase(place, databaseNameOf(c));
      if (database === undefined) return refusal(c, 404, 'database not found');
      return c.json({ database: databaseRow(place.branch.id, database) });
    }),
  );
}

function act(
  c: UpstreamContext,
  command: (place: ContentPlace) => Outcome<ContentChange<Database> | 'already_deleted'>,
  status: 200 | 201 = 200,
): Response {
  return inBranch(c, (place) => {
    const outcome = command(place);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    if (outcome.value === 'already_deleted') return c.body(null, 204);
    const { item, operations } = outcome.value;
    const database = databaseRow(place.branch.id, item);
    return c.json({ database, operations: startedRows(operations, place.nowMs) }, status);
  });
}

function databaseNameOf(c: UpstreamContext): string {
  return c.req.param('database_name') ?? '';
}
