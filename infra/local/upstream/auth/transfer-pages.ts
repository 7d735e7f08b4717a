/** What the new owner sees in a browser: step two of a transfer of ownership. */

import { html } from 'hono/html';

export function confirmationPage(projectId: string, code: string) {
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

export function confirmedPage() {
  return html`<!doctype html>
<html lang="en">
  <title>Transferred</title>
  <h1>The ownership is transferred</h1>
</html>`;
}
