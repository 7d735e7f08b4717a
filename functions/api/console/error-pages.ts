/** Shows a page when something fails while another page is made. */

import type { Hono } from 'hono';
import { toError } from '../../../shared/runtime/errors.ts';
import { isUnreadable } from '../../../shared/store/unreadable.ts';
import { isCursorFault } from '../read-model/page-cursor.ts';
import { page } from './html/frame/layout.ts';
import { simple } from './html/markup.ts';
import type { RefusalDeps } from './session/visitor-traces.ts';

const UNREADABLE = {
  title: 'Not readable',
  content: simple(
    'This record cannot be read',
    'A newer version of the bridge wrote it, or it is damaged. It is kept unchanged, and everything else continues to work. The log names it under item.unreadable.',
  ),
};

const NOT_A_PAGE = {
  title: 'Not a page',
  content: simple(
    'There is no such page',
    'The link was cut off, or was made for another person. Start again from the first page.',
  ),
};

const FAILED = {
  title: 'Failed',
  content: simple(
    'The page could not be made',
    'The bridge failed, or a link was cut off. Going back and trying again may help.',
  ),
};

export function addErrorPages(app: Hono, { telemetry, newId }: RefusalDeps): void {
  app.onError(async (error, c) => {
    if (isUnreadable(error)) return c.html(page(UNREADABLE), 503);
    if (isCursorFault(error)) return c.html(page(NOT_A_PAGE), 400);
    // The path and the message are left out, because both may have ids and values of the request in them.
    telemetry.log('error', 'console.failed', {
      request_id: newId(),
      method: c.req.method,
      reason: toError(error).name,
    });
    return c.html(page(FAILED), 500);
  });
}
