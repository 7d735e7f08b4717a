/** The form to sign in with: a token is exchanged for a session of an hour. */

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
<p>With a token of this bridge, or an access token of the configured issuer. The session ends after an hour, or when a token of the bridge does.</p>
${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="opb_...">
<button class="do">Sign in</button>
</form>
<p class="quiet">No token? Whoever runs the bridge makes one: <code>npm run tokens -- create</code>.</p>
</div>`;
}
