/** Serves the pages on which a new owner takes an auth integration over in a browser. */

import type { Hono } from 'hono';
import { html } from 'hono/html';
import { confirmTransfer } from '../world/auth-commands.ts';
import type { World } from '../world/world.ts';
import type { UpstreamEnv } from './requests.ts';

/** These pages are outside the API: they need no key, but the code that the API's answer contained. */
export function addTransferPages(app: Hono<UpstreamEnv>, { world }: { readonly world: World }): void {
  app.get('/auth/transfer/:project_id', (c) => {
    const code = c.req.query('code') ?? '';
    const project = world.project(c.req.param('project_id'));
    if (project === undefined || !project.auth.transferCodes.includes(code))
      return c.text('transfer not found', 404);
    return c.html(confirmationPage(project.id, code));
  });
  app.post('/auth/transfer/:project_id', async (c) => {
    const form = new URLSearchParams(await c.req.text());
    const project = world.project(c.req.param('project_id'));
    const account = form.get('account') ?? '';
    if (project === undefined || account.trim() === '') return c.text('transfer not found', 404);
    const outcome = confirmTransfer(project.auth, form.get('code') ?? '');
    if (outcome.kind === 'refused') return c.text(outcome.message, outcome.status);
    project.auth = outcome.next;
    return c.html(confirmedPage());
  });
}

function confirmationPage(projectId: string, code: string) {
  return html`<!doctype html>
<html lang="en">
  <title>Transfer of ownership</title>
  <h1>Take over the auth project of ${projectId}</h1>
  <form method="post">
    <input type="hidden" name="code" value="${code}" />
    <label>Account at the auth provider <input name="account" required /></label>
    <button>Confirm</button>
  </form>
</html>`;
}

function confirmedPage() {
  return html`<!doctype html>
<html lang="en">
  <title>Transferred</title>
  <h1>The ownership is transferred</h1>
</html>`;
}
