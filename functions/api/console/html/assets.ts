/**
 * Holds the style and the script of the console. Their names change with their content, so that browsers may keep
 * them for ever.
 */

import { createHash } from 'node:crypto';

export const STYLE = `
:root { color-scheme: light dark; --bg: #fbfbfd; --card: #fff; --text: #14171c; --quiet: #5a6272; --line: #dde1e8; --link: #0b57d0; --good: #146c2e; --bad: #b3261e; --busy: #7a4f00; --calm: #5a6272; --soft: #f1f3f7; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1115; --card: #171a20; --text: #e8eaee; --quiet: #a3acbc; --line: #2c313b; --link: #8ab4f8; --good: #7fd493; --bad: #f2a49d; --busy: #f0c674; --calm: #a3acbc; --soft: #1e222a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: var(--link); } .skip { position: absolute; left: -999px; } .skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .5rem; }
header.top { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center; padding: .6rem 1rem; border-bottom: 1px solid var(--line); background: var(--card); }
header.top .name { font-weight: 650; color: inherit; text-decoration: none; } header.top nav { display: flex; gap: 1rem; flex: 1; } header.top form { margin: 0; }
main { max-width: 68rem; margin: 0 auto; padding: 1rem 1rem 4rem; }
h1 { margin: .75rem 0 .25rem; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; } h2 { margin: 1.75rem 0 .5rem; font-size: 1.1rem; }
p { margin: .25rem 0 .75rem; } .quiet, dt, th, .crumbs { color: var(--quiet); } .crumbs { font-size: .9rem; overflow-wrap: anywhere; }
code, pre, .id { font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; }
.card, table, .empty, .notice { background: var(--card); border: 1px solid var(--line); border-radius: 10px; } .card { padding: .75rem 1rem; } .card b { display: block; font-size: 1.35rem; font-weight: 600; }
.empty, .notice { padding: 1rem; color: var(--quiet); } .notice.bad { color: var(--bad); border-color: currentColor; }
table { width: 100%; border-collapse: separate; border-spacing: 0; } th, td { padding: .45rem .75rem; text-align: left; vertical-align: top; } td { border-top: 1px solid var(--line); overflow-wrap: anywhere; } th { font-weight: 600; font-size: .85rem; }
.scroll { overflow-x: auto; }
.badge { white-space: nowrap; font-weight: 600; font-size: .9rem; } .good { color: var(--good); } .bad { color: var(--bad); } .busy { color: var(--busy); } .calm, .odd { color: var(--calm); }
.verdict { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: baseline; font-size: 1.15rem; }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .6rem 1.25rem; margin: 1rem 0; } dl.facts div { min-width: 0; } dt { font-size: .85rem; } dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .75rem; background: var(--soft); border-radius: 8px; overflow: auto; max-height: 28rem; white-space: pre-wrap; }
details { margin: .25rem 0; } summary { cursor: pointer; } form.filter { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .75rem 0; } label { display: block; font-size: .85rem; color: var(--quiet); }
input, select, button, .button { font: inherit; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--text); } button, .button { cursor: pointer; text-decoration: none; display: inline-block; } button.do, .button.do { background: var(--link); border-color: var(--link); color: var(--bg); }
.sign { max-width: 30rem; margin: 3rem auto; } .sign input { width: 100%; margin: .25rem 0 1rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--quiet); font: 11px system-ui, sans-serif; } svg .axis { stroke: var(--line); } svg .p50 { stroke: var(--link); fill: none; stroke-width: 1.5; } svg .p95 { stroke: var(--busy); fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .bar.good { fill: var(--good); } svg .bar.bad { fill: var(--bad); } svg .bar.busy { fill: var(--busy); } svg .bar.calm, svg .bar.odd { fill: var(--calm); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
@media (max-width: 40rem) { table.stack thead { display: none; } table.stack tr { display: block; padding: .4rem 0; border-top: 1px solid var(--line); } table.stack td { display: block; border: 0; padding: .1rem .75rem; } }
@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 2s; } @keyframes fresh { from { background: var(--soft); } } }
`;

export const SCRIPT = `
const inZone = (root) => {
  for (const time of root.querySelectorAll('time')) {
    const date = new Date(time.dateTime);
    time.title = time.dateTime.slice(0, 19).replace('T', ' ') + ' UTC';
    time.textContent = date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  }
};
inZone(document);
const live = document.querySelector('[data-live]');
let cursor = live?.dataset.live;
let waitMs = 2000;
const refresh = async () => {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  const next = page.querySelector('[data-live]');
  if (next === null) return location.reload();
  const open = new Set([...live.querySelectorAll('details[open][id]')].map((details) => details.id));
  live.replaceChildren(...next.childNodes);
  for (const details of live.querySelectorAll('details[id]')) details.open = open.has(details.id);
  live.classList.remove('fresh');
  void live.offsetWidth;
  live.classList.add('fresh');
  inZone(live);
};
const look = async () => {
  if (document.hidden) { waitMs = Math.min(waitMs * 2, 60000); return; }
  const response = await fetch('/console/live?' + new URLSearchParams({ cursor, about: live.dataset.about ?? '' }));
  if (response.status === 401) return location.reload();
  if (!response.ok) { waitMs = Math.min(waitMs * 2, 60000); return; }
  const answer = await response.json();
  cursor = answer.cursor;
  waitMs = 2000;
  if (answer.changed) await refresh();
};
if (live !== null && cursor) {
  const loop = () => look().catch(() => { waitMs = Math.min(waitMs * 2, 60000); }).finally(() => setTimeout(loop, waitMs));
  setTimeout(loop, waitMs);
  document.addEventListener('visibilitychange', () => { if (!document.hidden) waitMs = 500; });
}
for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = 'Copied';
  });
}
`;

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

export const STYLE_PATH = `/console/assets/style-${hashOf(STYLE)}.css`;
export const SCRIPT_PATH = `/console/assets/script-${hashOf(SCRIPT)}.js`;

/**
 * Every page has this Content-Security-Policy: it allows only own files, nothing inline, no frames, and forms only to
 * this origin.
 */
export const CONSOLE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
