/**
 * Wraps the read model for one caller: it seals every cursor that is given out, and opens every cursor that comes
 * back.
 */

import type { CursorSeal } from '../../../shared/callers/sealed-cursor.ts';
import type { AuditReader } from './audit-reader.ts';
import type { Page, PageRequest } from './page-cursor.ts';
import type { ReadModel } from './read-model.ts';

export function sealedReadModel(model: ReadModel, cursors: CursorSeal): ReadModel {
  const { seal, open, opened, sealed } = sealing(cursors);
  return {
    ...model,
    tokens: async (request) => sealed(await model.tokens(opened(request))),
    projects: async (request) => sealed(await model.projects(opened(request))),
    queuedCommands: async (request) => sealed(await model.queuedCommands(opened(request))),
    incidents: async (state, request) => sealed(await model.incidents(state, opened(request))),
    operations: async (projectId, request) => sealed(await model.operations(projectId, opened(request))),
    audit: sealedAudit(model.audit, cursors),
    feed: {
      start: (from) => seal(model.feed.start(from)),
      async since(cursor, limit) {
        const page = await model.feed.since(open(cursor), limit);
        return { ...page, cursor: seal(page.cursor) };
      },
      recent: async (request) => sealed(await model.feed.recent(opened(request))),
    },
  };
}

/** Wraps the audit of one account, which need not be that of the caller. */
export function sealedAudit(read: AuditReader, cursors: CursorSeal): AuditReader {
  const { opened, sealed } = sealing(cursors);
  return async (request) => {
    const page = await read(opened(request));
    return { ...page, ...sealed(page) };
  };
}

function sealing(cursors: CursorSeal) {
  // A cursor of the table is JSON in base64. The JSON itself is sealed, which keeps the cursor short enough for a URL.
  const open = (cursor: string) => Buffer.from(cursors.open(cursor)).toString('base64url');
  const seal = (cursor: string) => cursors.seal(Buffer.from(cursor, 'base64url').toString());
  const opened = <Request extends PageRequest>(request: Request): Request =>
    request.cursor === undefined ? request : { ...request, cursor: open(request.cursor) };
  const sealed = <Item>(page: Page<Item>): Page<Item> => ({
    ...page,
    next: page.next === undefined ? undefined : seal(page.next),
  });
  return { open, seal, opened, sealed };
}
