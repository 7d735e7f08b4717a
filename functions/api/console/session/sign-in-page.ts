/** Shows the form that exchanges a token for a session of an hour. */

import { html } from 'hono/html';
import type { Html } from '../html/markup.ts';

export function signInPage({
  next,
  problem,
}: {
  readonly next: string;
  readonly problem?: string | undefined;
}): Html {
  return html`<div class="sign">
<h1>Sign in</h1>
<p>Use a token of this bridge, or an access token of the configured issuer. The session ends after an hour, and earlier if the bridge token expires or is revoked.</p>
${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="opb_...">
<button class="do">Sign in</button>
</form>
<p class="quiet">Do you have no token? The operators of the bridge create one with <code>operations-bridge tokens create</code>.</p>
</div>`;
}
