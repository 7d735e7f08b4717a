/** Makes the frame around every page. */

import { html } from 'hono/html';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import type { Html } from './markup.ts';

export interface Frame {
  readonly title: string;
  readonly content: Html;
  /** `who` is the visitor. It is undefined on a page that needs no session. */
  readonly who?:
    | { readonly clientId: string; readonly formKey: string; readonly mayAudit: boolean }
    | undefined;
  /** The browser goes to this page of the console at once, and does not need a script for it. */
  readonly continueTo?: string | undefined;
  /** The cursor is the feed's end when the page was made. Without `live`, the page does not refresh itself. */
  readonly live?: { readonly cursor: string; readonly about: string } | undefined;
}

export function page({ title, content, who, live, continueTo }: Frame): Html {
  const liveAttributes =
    live === undefined ? '' : html` data-live="${live.cursor}" data-about="${live.about}"`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${continueTo === undefined ? '' : html`<meta http-equiv="refresh" content="0;url=${continueTo}">`}
<title>${title} · Operations Bridge</title>
<link rel="stylesheet" href="${STYLE_PATH}">
<script src="${SCRIPT_PATH}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="name" href="/console">Operations Bridge</a>
${
  who === undefined
    ? ''
    : html`<nav aria-label="Pages"><a href="/console">Overview</a><a href="/console/events">Events</a>${who.mayAudit ? html`<a href="/console/audit">Audit</a>` : ''}<a href="/bridge/v1/docs">API</a></nav>
<form method="post" action="/console/sign-out"><input type="hidden" name="form_key" value="${who.formKey}"><span class="quiet">${who.clientId}</span> <button>Sign out</button></form>`
}
</header>
<main id="content"${liveAttributes}>
${content}
</main>
</body>
</html>`;
}
