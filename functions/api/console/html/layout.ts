/**
 * Makes the frame around every page: the search, the navigation and the time zone, with the style.
 */

import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { withoutDisguise } from '../../../../shared/runtime/foreign-text.ts';
import type { Html } from './markup.ts';
import { SCRIPT } from './script.ts';

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
  /** Stands above every page while it holds. */
  readonly banner?: Html | undefined;
  /** Says once what the visitor has just done. */
  readonly done?: string | undefined;
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
  const { title, content, who, live, zone, continueTo, banner, done } = frame;
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
<link rel="icon" href="${ICON_PATH}">
<script src="${SCRIPT_PATH}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><div>
<a class="name" href="/console">Operations Bridge</a>
${who === undefined ? '' : html`${searchForm(frame.searched)}${menu(who, frame.section)}`}
</div></header>
${banner === undefined ? '' : html`<p class="banner" role="alert">${banner}</p>`}
${live === undefined ? '' : html`<p class="live"><button type="button" data-pause aria-pressed="false" hidden>● Live. Pause</button></p>`}
<main id="content"${liveAttributes}>
${content}
</main>
${done === undefined ? '' : html`<p class="toast" role="status">${done}</p>`}
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

function signOut({ formKey }: Who): Html {
  return html`<form method="post" action="/console/sign-out"><input type="hidden" name="form_key" value="${formKey}"><button>Sign out</button></form>`;
}

function footer({ path, clientId }: Who, zone: string): Html {
  return html`<footer class="bottom"><span>All times are in ${zone}. <a href="/console/time-zone?next=${encodeURIComponent(path)}">Change the time zone</a></span><span>Signed in as ${clientId}. <kbd>/</kbd> searches, <kbd>?</kbd> helps.</span></footer>
${help()}`;
}

/** A script opens it. */
function help(): Html {
  return html`<dialog id="help" aria-labelledby="help-title"><h2 id="help-title">Help</h2><dl class="facts"><div><dt><kbd>/</kbd></dt><dd>goes to the search: names, ids, actions, statuses, words of errors</dd></div><div><dt><kbd>Tab</kbd></dt><dd>reaches everything; the first stop skips the navigation</dd></div><div><dt><kbd>Esc</kbd></dt><dd>leaves the search, the menu and this help</dd></div><div><dt>● Live</dt><dd>a list follows what happens, and Pause holds it still</dd></div><div><dt>Filters</dt><dd>stand in the address, so a link shows others the same</dd></div></dl><form method="dialog"><button class="do">Close</button></form></dialog>`;
}

const SCALE = `
:root { color-scheme: light dark;
--text-xs: .8125rem; --text-s: .875rem; --text-m: .9375rem; --text-l: 1.125rem; --text-xl: 1.5rem;
--space-1: .25rem; --space-2: .5rem; --space-3: .75rem; --space-4: 1rem; --space-5: 1.5rem; --space-6: 2rem; --space-7: 3rem;
--ground: #f6f7f9; --card: #fff; --soft: #eef0f4; --line: #e0e3e9; --edge: #858c9a; --text: #16191f; --quiet: #586070; --accent: #1f52d1; --on-accent: #fff;
--good: #14692f; --bad: #b3231a; --busy: #805000; --calm: #586070; --well: #a9d6b6; --bad-ground: #fdf0ee; --radius: 8px; --shadow: 0 8px 24px rgb(16 18 22 / 12%); }
@media (prefers-color-scheme: dark) { :root {
--ground: #101216; --card: #181b21; --soft: #20242c; --line: #2d323c; --edge: #6f7888; --text: #e6e8ec; --quiet: #a2abba; --accent: #93b4ff; --on-accent: #0d1424;
--good: #7fd095; --bad: #f5a59d; --busy: #ecc172; --calm: #a2abba; --well: #2f5f3e; --bad-ground: #2c1a1a; --shadow: 0 8px 24px rgb(0 0 0 / 50%); } }
`;

const TEXT = `
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--ground); color: var(--text); font: var(--text-m)/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.only-read, .skip { position: absolute; left: -999rem; }
.skip:focus { left: var(--space-4); top: var(--space-2); background: var(--card); padding: var(--space-2); z-index: 3; }
h1 { margin: 0; font-size: var(--text-xl); line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: var(--space-6) 0 var(--space-2); font-size: var(--text-l); line-height: 1.3; }
h3 { margin: var(--space-4) 0 var(--space-2); font-size: var(--text-m); }
p { margin: var(--space-1) 0 var(--space-3); max-width: 46rem; }
.quiet, dt, th, .crumbs { color: var(--quiet); }
.crumbs { font-size: var(--text-s); margin: 0 0 var(--space-1); overflow-wrap: anywhere; }
code, pre, .id { font: var(--text-xs)/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
kbd { font: var(--text-xs) ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px; padding: 0 .3em; }
pre { margin: var(--space-2) 0; padding: var(--space-3); background: var(--soft); border-radius: var(--radius); overflow: auto; max-height: 28rem; white-space: pre-wrap; }
.nobreak { white-space: nowrap; } .badge { white-space: nowrap; font-weight: 500; } .badge.bad { font-weight: 650; }
.good { color: var(--good); } .bad { color: var(--bad); } .busy { color: var(--busy); } .calm, .odd { color: var(--calm); } .accent { color: var(--accent); }
.badge.well { color: var(--quiet); } .badge.well span { color: var(--good); } .swatch.well { color: var(--well); }
`;

const FRAME = `
header.top { background: var(--card); border-bottom: 1px solid var(--line); position: relative; }
header.top > div { max-width: 76rem; margin: 0 auto; padding: var(--space-2) var(--space-4) 0; display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-4); align-items: center; }
header.top .name { font-weight: 650; color: inherit; text-decoration: none; margin-right: auto; padding: var(--space-2) 0; }
header.top form { margin: 0; display: flex; gap: var(--space-2); align-items: center; }
.search input { width: 18rem; max-width: 100%; }
.menu { flex-basis: 100%; margin: 0; font-size: var(--text-s); }
.menu > div { display: flex; flex-wrap: wrap; gap: 0 var(--space-5); align-items: center; }
.menu nav { display: flex; flex-wrap: wrap; gap: 0 var(--space-4); }
.menu nav + nav { padding-left: var(--space-5); border-left: 1px solid var(--line); }
.menu nav a { padding: var(--space-2) 0; color: var(--quiet); text-decoration: none; }
.menu nav a:hover { color: var(--text); }
.menu nav a[aria-current] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
header.top .menu form { margin-left: auto; gap: var(--space-1); }
.menu form button { border-color: transparent; background: none; color: var(--quiet); padding: var(--space-1) 0; }
.menu form button:hover { color: var(--text); text-decoration: underline; }
@media (max-width: 76rem) { .menu > div { gap: 0 var(--space-4); } .menu nav { gap: 0 var(--space-3); } .menu nav + nav { padding-left: var(--space-4); } }
main, footer.bottom { width: 100%; max-width: 76rem; margin: 0 auto; padding: var(--space-5) var(--space-4); }
main { flex: 1; } footer.bottom { padding-top: var(--space-4); color: var(--quiet); font-size: var(--text-s); border-top: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-5); justify-content: space-between; } footer.bottom a { color: inherit; }
.head { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-4); align-items: center; justify-content: space-between; margin-bottom: var(--space-2); min-height: 2.1rem; }
.sign { max-width: 30rem; margin: var(--space-7) auto; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: var(--space-5) var(--space-6); }
.sign h1 { margin-bottom: var(--space-3); } .sign h2 { margin-top: var(--space-5); } .sign input { width: 100%; margin: var(--space-1) 0 var(--space-4); } .sign form + p { margin: var(--space-5) 0 0; font-size: var(--text-s); }
`;

const BLOCKS = `
.card, table, .empty, .notice, figure, .facts { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: var(--space-3); margin: var(--space-3) 0; }
.card { padding: var(--space-2) var(--space-4); color: var(--quiet); font-size: var(--text-s); }
.card b { white-space: nowrap; margin: 0 .3em; font-size: var(--text-l); font-weight: 600; color: var(--text); } .card.bad { color: var(--quiet); border-left: 3px solid var(--bad); } .card.bad b { color: var(--bad); }
.empty, .notice { padding: var(--space-3) var(--space-4); margin: var(--space-2) 0; color: var(--quiet); font-size: var(--text-s); max-width: none; }
.notice { border-left: 3px solid var(--accent); color: var(--text); } .notice.bad { border-left-color: var(--bad); background: var(--bad-ground); color: var(--text); }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: var(--text-s); }
th, td { padding: var(--space-2) var(--space-3); text-align: left; vertical-align: top; }
td { border-top: 1px solid var(--line); overflow-wrap: anywhere; } th { font-weight: 600; font-size: var(--text-xs); white-space: nowrap; }
th a { color: inherit; } th[aria-sort] a { color: var(--text); } td.number, th.number { text-align: right; } td .when, td time, td summary { white-space: nowrap; }
@media (min-width: 66rem) { td a + .id { white-space: nowrap; } }
tbody tr:hover td { background: var(--soft); } tbody tr:last-child td:first-child { border-bottom-left-radius: var(--radius); } tbody tr:last-child td:last-child { border-bottom-right-radius: var(--radius); }
td details { margin: 0; } td .button, td button { min-height: 0; padding: 0 var(--space-2); } td form { margin: 0; }
.verdict { display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-4); align-items: baseline; font-size: var(--text-l); max-width: none; } .verdict a { font-size: var(--text-s); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: var(--space-3) var(--space-5); margin: var(--space-4) 0; padding: var(--space-3) var(--space-4); }
dl.facts div { min-width: 0; } dt { font-size: var(--text-xs); } dd { margin: 0; font-size: var(--text-s); overflow-wrap: anywhere; }
p.live { width: 100%; max-width: 76rem; margin: 0 auto; padding: var(--space-1) var(--space-2) 0; text-align: right; min-height: 1.6rem; } p.live + main { padding-top: 0; } p.live button { min-height: 0; padding: 0 var(--space-2); border-color: transparent; background: none; color: var(--quiet); font-size: var(--text-xs); } p.live button:hover { color: var(--text); text-decoration: underline; }
.banner { margin: 0; max-width: none; padding: var(--space-2) var(--space-4); text-align: center; background: var(--bad-ground); border-bottom: 1px solid var(--bad); font-size: var(--text-s); font-weight: 600; }
.toast { position: fixed; bottom: var(--space-4); left: 50%; translate: -50%; z-index: 3; margin: 0; padding: var(--space-3) var(--space-5); background: var(--text); color: var(--card); border-radius: var(--radius); box-shadow: var(--shadow); font-size: var(--text-s); }
dialog { background: var(--card); color: var(--text); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); max-width: 34rem; } dialog h2 { margin-top: 0; } dialog::backdrop { background: rgb(0 0 0 / 40%); }
details { margin: var(--space-2) 0; font-size: var(--text-s); } summary { cursor: pointer; width: fit-content; }
ul.plain { list-style: none; margin: 0; padding: 0; font-size: var(--text-s); } ul.plain li { padding: var(--space-1) 0; }
`;

/** Rows of one line: what there is no room for is cut, and its title or its page has the whole of it. */
const LINES = `
table.dense td, table.dense th { padding: .2rem var(--space-2); white-space: nowrap; } table.dense td { line-height: 1.3; font-size: var(--text-xs); } table.dense td:first-child, table.dense th:first-child { padding-left: var(--space-3); }
table.dense td.wide { width: 60%; max-width: 0; overflow: hidden; text-overflow: ellipsis; color: var(--quiet); }
table.dense td button { border-color: transparent; background: none; color: var(--accent); padding: 0; font-size: var(--text-xs); line-height: inherit; } table.dense td button:hover { text-decoration: underline; }
.notice.good { border-left-color: var(--good); color: var(--text); } .unread { color: var(--calm); } .swatch.unread { color: var(--edge); } svg .bar.unread { fill: var(--edge); }
`;

const FORMS = `
.pair { display: flex; gap: var(--space-2); }
.row { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-3); align-items: center; margin: var(--space-2) 0; } .row form { margin: 0; } .row > div { min-width: 0; max-width: 100%; }
form.filter { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-3); align-items: end; margin: var(--space-3) 0; } form.filter > div { min-width: 0; max-width: 100%; }
label { display: block; font-size: var(--text-xs); color: var(--quiet); }
input, select, textarea, button, .button { font: inherit; font-size: var(--text-s); padding: var(--space-1) var(--space-3); min-height: 2.1rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--card); color: var(--text); max-width: 100%; }
input, select, textarea { border-color: var(--edge); padding-left: var(--space-2); padding-right: var(--space-2); } ::placeholder { color: var(--quiet); opacity: 1; }
button, .button { cursor: pointer; text-decoration: none; display: inline-flex; align-items: center; white-space: nowrap; } button:hover, .button:hover { background: var(--soft); }
button.do, .button.do { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; } button.do:hover, .button.do:hover { background: color-mix(in srgb, var(--accent) 88%, var(--text)); }
input[type=radio], input[type=checkbox] { min-height: 0; padding: 0; accent-color: var(--accent); }
fieldset { border: 1px solid var(--line); border-radius: var(--radius); background: var(--card); margin: var(--space-3) 0; padding: var(--space-2) var(--space-4) var(--space-3); min-width: 0; }
legend { float: left; width: 100%; font-weight: 600; padding: var(--space-1) 0 var(--space-2); } legend + * { clear: both; } .choices .wide { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: var(--space-1) var(--space-5); } .choices label:has(input[type=radio]) { display: grid; grid-template-columns: auto 1fr; gap: 0 var(--space-2); align-items: center; align-content: start; font-size: var(--text-s); color: var(--text); } .choices label:has(input[type=radio]) span { grid-column: 2; } .choices > label { font-size: var(--text-s); color: var(--text); padding: var(--space-1) 0; }
@supports selector(::details-content) { @media (min-width: 44.01rem) { details.filter, details.menu { margin-bottom: 0; } details.filter > summary, details.menu > summary { display: none; } details.filter::details-content, details.menu::details-content { content-visibility: visible; } } }
`;

const CHARTS = `
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: var(--space-3); } .charts > figure:only-child { max-width: 36rem; }
figure { margin: 0; padding: var(--space-3) var(--space-4); min-width: 0; } figcaption { font-size: var(--text-s); color: var(--quiet); margin-bottom: var(--space-2); } figcaption b { color: var(--text); } figcaption:last-child { margin: var(--space-2) 0 0; } figure details { margin-bottom: 0; }
svg.delays { max-width: 50rem; } .scroll { overflow-x: auto; } .scroll svg { min-width: 40rem; } table + p { margin-top: var(--space-2); } figure + table, form + figure, form + table { margin-top: var(--space-3); }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; } svg .axis { stroke: var(--line); }
svg .p50 { stroke: var(--accent); fill: none; stroke-width: 1.5; } svg .p95 { stroke: var(--busy); fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .bar { fill: var(--calm); } svg .bar.good { fill: var(--good); } svg .bar.bad { fill: color-mix(in srgb, var(--bad) 85%, var(--card)); } svg .bar.busy { fill: var(--busy); } svg .bar.accent { fill: var(--accent); } svg .bar.well { fill: var(--well); } svg.share { height: 10px; border-radius: 5px; }
.legend { display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-4); font-size: var(--text-s); margin: var(--space-2) 0; padding: 0; list-style: none; }
`;

/** A phone shows each row of a table as a block, and has fields and buttons that a finger can hit. */
const PHONE = `
@media (max-width: 44rem) {
header.top > div { padding-bottom: var(--space-2); }
.search { order: 2; flex-basis: 100%; } .search input { flex: 1; width: auto; min-width: 0; }
.menu { flex-basis: auto; } .menu > summary { padding: var(--space-2) var(--space-3); border: 1px solid var(--line); border-radius: var(--radius); min-height: 2.6rem; display: flex; align-items: center; }
.menu > summary::after { content: "▾"; margin-left: var(--space-2); } .menu[open] > summary::after { content: "▴"; }
.menu > div { position: absolute; left: 0; right: 0; top: 3.2rem; z-index: 2; background: var(--card); border-bottom: 1px solid var(--line); box-shadow: var(--shadow); padding: var(--space-2) var(--space-4) var(--space-3); display: block; }
.menu nav { display: grid; grid-template-columns: 1fr 1fr; gap: 0 var(--space-4); } .menu nav + nav { padding: var(--space-1) 0 0; margin-top: var(--space-1); border-left: 0; border-top: 1px solid var(--line); }
.menu nav a { padding: var(--space-3) 0; font-size: var(--text-m); color: var(--text); } .menu nav a[aria-current] { box-shadow: none; color: var(--accent); }
header.top .menu > div > form { border-top: 1px solid var(--line); padding-top: var(--space-1); margin: var(--space-1) 0 0; }
main { padding-top: var(--space-4); } p.live + main { padding-top: 0; }
button, .button, input, select { min-height: 2.6rem; } form.filter > div { flex: 1 1 40%; } form.filter input, form.filter select { width: 100%; } form.filter[method=post] > div { flex-basis: 100%; } td .button, td button { min-height: 2.2rem; padding: 0 var(--space-3); } .sign { padding: var(--space-4); margin: var(--space-4) 0; }
.cards { grid-template-columns: 1fr; gap: var(--space-1); } dl.facts { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
svg text { font-size: 13px; } .scroll svg text { font-size: 17px; } svg.delays text { font-size: 21px; }
table.stack thead { position: absolute; left: -999rem; }
table.stack tr { display: flex; flex-wrap: wrap; justify-content: space-between; padding: var(--space-2) 0; border-top: 1px solid var(--line); } table.stack tbody tr:first-child { border-top: 0; }
table.stack td { display: block; border: 0; padding: .1rem var(--space-3); text-align: left; } table.stack td:empty { display: none; }
table.stack.dense td.number { display: none; } table.stack.dense td.wide { flex: 1 0 60%; width: auto; max-width: none; white-space: normal; order: 1; } table.stack.dense td:has(form) { order: 2; } table.stack.dense td button { min-height: 1.8rem; }
table.lines, table.lines tbody { display: block; } table.lines thead { position: absolute; left: -999rem; } table.lines tr { display: flex; gap: var(--space-2); padding: 0 var(--space-3); border-top: 1px solid var(--line); } table.lines tbody tr:first-child { border-top: 0; }
table.lines td, table.lines .id { font-size: .78rem; } table.lines td { border: 0; padding: var(--space-1) 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; } table.lines td:first-child { flex: none; } table.lines td:nth-child(2) { flex: 1 0 0; } table.lines td:nth-child(3) { flex: 0 1 27%; } table.lines td:nth-child(4) { display: none; }
table.stack td:has(details, pre), table.stack:not(.dense) td:has(form), table.stack td:first-child:has(.id) { flex-basis: 100%; } table.stack td[data-label]:not(:empty)::before { content: attr(data-label) " "; color: var(--quiet); } }
`;

const MOTION = `
@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 2s; } @keyframes fresh { from { background: var(--soft); } } }
`;

export const STYLE = [SCALE, TEXT, FRAME, BLOCKS, LINES, FORMS, CHARTS, PHONE, MOTION].join('');

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** A bridge of two piers in the colour of links. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f52d1"/><path d="M4 21h24M8 21V11m16 10V11M8 12q8 9 16 0" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round"/></svg>';

export const STYLE_PATH = `/console/assets/style-${hashOf(STYLE)}.css`;
export const ICON_PATH = `/console/assets/icon-${hashOf(ICON)}.svg`;
export const SCRIPT_PATH = `/console/assets/script-${hashOf(SCRIPT)}.js`;

/**
 * Every page has this Content-Security-Policy: it allows only own files, nothing inline, no frames, and forms only to
 * this origin.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
