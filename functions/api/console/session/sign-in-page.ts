/** Shows the ways to sign in: at the company's provider, if there is one, and with a token. Each gives a session of an hour. */

import { html } from 'hono/html';
import type { Html } from '../html/markup.ts';

export function signInPage({
  next,
  problem,
  provider,
}: {
  readonly next: string;
  readonly problem?: string | undefined;
  /** People know the company's provider by this host. It is undefined when they sign in with a token alone. */
  readonly provider?: string | undefined;
}): Html {
  return html`<div class="sign">
<h1>Sign in</h1>
${problem === undefined ? '' : html`<p class="notice bad" role="alert">${problem}</p>`}
${provider === undefined ? '' : providerLink(provider, next)}
<p>Use a token of this bridge, or an access token of the configured issuer. The session ends after an hour, and earlier if the bridge token expires or is revoked.</p>
<form method="post" action="/console/sign-in">
<input type="hidden" name="next" value="${next}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required placeholder="opb_...">
<button${provider === undefined ? html` class="do"` : ''}>Sign in</button>
</form>
<p class="quiet">Do you have no token? The operators of the bridge create one with <code>operations-bridge tokens create</code>.</p>
</div>`;
}

/** It is a link and not a form, because a form may lead only to this origin. */
function providerLink(provider: string, next: string): Html {
  return html`<p><a class="button do" id="provider" href="/console/sign-in/start?next=${encodeURIComponent(next)}">Sign in at ${provider}</a></p>
<h2>Or with a token</h2>`;
}
