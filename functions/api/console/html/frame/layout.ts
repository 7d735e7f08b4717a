/** Makes the frame around every page: the search, the navigation, and the time zone of the page. */

import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { withoutDisguise } from '../../../../../shared/runtime/printable.ts';
import type { Html } from '../markup.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';

export interface Frame {
  readonly title: string;
  readonly content: Html;
  /** `who` is the visitor. It is undefined on a page that needs no session. */
  readonly who?: Who | undefined;
  /** The browser goes to this page of the console at once, and does not need a script for it. */
  readonly continueTo?: string | undefined;
  /** The cursor is the feed's end when the page was made. Without `live`, the page does not refresh itself. */
  readonly live?: { readonly cursor: string; readonly about: string } | undefined;
  /** All times of the page are in this zone. It is undefined on a page without times. */
  readonly zone?: string | undefined;
  /** The navigation marks the entry with this address: the page itself, or the list that it belongs to. */
  readonly section?: string | undefined;
  /** The field for searching is filled with this. */
  readonly searched?: string | undefined;
}

interface Who {
  readonly clientId: string;
  readonly formKey: string;
  /** The page has this address, and switching the zone leads back to it. */
  readonly path: string;
  readonly navigation: Navigation;
}

export interface Navigation {
  /** People who watch operations need these pages. */
  readonly daily: readonly NavigationEntry[];
  /** People who run the bridge need these pages. They stand apart. */
  readonly administration: readonly NavigationEntry[];
}

interface NavigationEntry {
  readonly path: string;
  readonly name: string;
}

export async function page(frame: Frame): Promise<HtmlEscapedString> {
  return raw(withoutDisguise((await markupOf(frame)).toString()));
}

function markupOf(frame: Frame): Html {
  const { title, content, who, live, zone, continueTo } = frame;
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
<header class="top"><div>
<a class="name" href="/console">Operations Bridge</a>
${who === undefined ? '' : html`${searchForm(frame.searched)}${menu(who, frame.section)}`}
</div></header>
<main id="content"${liveAttributes}>
${content}
</main>
${who === undefined || zone === undefined ? '' : footer(who, zone)}
</body>
</html>`;
}

function searchForm(searched: string | undefined): Html {
  return html`<form class="search" role="search" action="/console/search"><input id="search" name="q" type="search" value="${searched ?? ''}" aria-label="Search projects, operations, branches, computes and commands" placeholder="Search (press /)" maxlength="100" autocomplete="off" spellcheck="false"><button>Search</button></form>`;
}

/**
 * On a phone the pages are a menu that is folded away, and its summary names the present page. Wide screens show them
 * in any case, and no summary. Neither needs a script.
 */
function menu(who: Who, section: string | undefined): Html {
  const { daily, administration } = who.navigation;
  const [here] = who.path.split('?');
  const present = [...daily, ...administration].find(({ path }) => path === section);
  const links = (entries: readonly NavigationEntry[]) =>
    entries.map(
      ({ path, name }) =>
        html`<a href="${path}"${path === section ? html` aria-current="${path === here ? 'page' : 'true'}"` : ''}>${name}</a>`,
    );
  return html`<details class="menu" id="menu"><summary>Menu${present === undefined ? '' : html`<span class="quiet">: ${present.name}</span>`}</summary><div>
<nav aria-label="Pages">${links(daily)}</nav>
<nav aria-label="Administration">${links(administration)}</nav>
${signOut(who)}</div></details>`;
}

function signOut({ clientId, formKey }: Who): Html {
  return html`<form method="post" action="/console/sign-out"><input type="hidden" name="form_key" value="${formKey}"><span class="quiet who">${clientId}</span> <button>Sign out</button></form>`;
}

function footer({ path, clientId }: Who, zone: string): Html {
  return html`<footer class="bottom"><span>All times are in ${zone}. <a href="/console/time-zone?next=${encodeURIComponent(path)}">Change the time zone</a></span><span>Signed in as ${clientId}. <kbd>/</kbd> searches.</span></footer>`;
}
