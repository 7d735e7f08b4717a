/**
 * Holds the script of all pages, which are complete without it: it patches open pages with what has changed, within a bound of bytes, and
 * has the keys, the copies and the help.
 */

/** A tab asks for at most 100 kB in any minute: this much, one page more at the edge of the minute, and the short looks between. */
const REFRESH_BYTES_PER_MINUTE = 65_000;

/** A list whose rows are no events is asked for this often at most. */
const TIMED_REFRESH_MS = 10_000;

/** A page is read again after this time without a change, because what is late or lasts changes with time alone. */
const REFRESH_MS_MAX = 60_000;

export const SCRIPT = `
const live = document.querySelector('[data-live]');
const mark = document.querySelector('[data-pause]');
let cursor = live?.dataset.live;
let waitMs = 2000;
let refreshedAt = Date.now();
let isPaused = false;
const keyOf = (node) => node.nodeType !== 1 ? '' : node.id || (node.matches('tr, li') ? [...node.querySelectorAll('[id], a[href]')].map((each) => each.id || each.getAttribute('href')).join(' ') : '');
const patch = (old, next) => {
  if (old.isEqualNode(next) || old.matches?.('input, select, textarea')) return;
  if (old.nodeType !== 1 || old.nodeName !== next.nodeName) return old.nodeName === next.nodeName ? void (old.nodeValue = next.nodeValue) : old.replaceWith(next);
  for (const { name } of [...old.attributes]) if (name !== 'open' && name !== 'class' && !next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  patchChildren(old, next);
};
const patchChildren = (old, next) => {
  const known = new Map([...old.childNodes].map((child) => [keyOf(child), child]));
  const wanted = new Set([...next.childNodes].map(keyOf));
  let at = old.firstChild;
  const drop = () => { const gone = at; at = at.nextSibling; gone.remove(); };
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    while (at !== null && keyOf(at) !== '' && !wanted.has(keyOf(at))) drop();
    const same = key === '' ? (at !== null && keyOf(at) === '' && at.nodeName === child.nodeName ? at : undefined) : known.get(key);
    if (same === undefined) {
      old.insertBefore(child, at);
      if (key !== '') child.classList.add('fresh');
      continue;
    }
    known.delete(key);
    if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    patch(same, child);
  }
  while (at !== null) drop();
};
const read = async (address) => {
  const response = await fetch(address);
  if (response.status === 401) location.reload();
  if (!response.ok) throw new Error(address + ' was answered with ' + response.status);
  return response;
};
const refresh = async () => {
  const text = await (await read(location.href)).text();
  const next = new DOMParser().parseFromString(text, 'text/html').querySelector('[data-live]');
  if (next === null) return location.reload();
  patchChildren(live, document.adoptNode(next));
  offerCopies();
  refreshedAt = Date.now();
  const sent = performance.getEntriesByName(location.href).at(-1)?.transferSize || text.length;
  performance.clearResourceTimings();
  waitMs = Math.max(2000, (sent / ${REFRESH_BYTES_PER_MINUTE}) * 60000);
};
const look = async () => {
  if (isPaused) return;
  if (document.hidden) { waitMs = Math.min(waitMs * 2, 60000); return; }
  if (live.dataset.about === 'time') {
    await refresh();
    waitMs = Math.max(waitMs, ${TIMED_REFRESH_MS});
    return;
  }
  const response = await read('/console/live?' + new URLSearchParams({ cursor, about: live.dataset.about ?? '' }));
  const answer = await response.json();
  cursor = answer.cursor;
  waitMs = 2000;
  if (answer.changed || Date.now() - refreshedAt >= ${REFRESH_MS_MAX}) await refresh();
};
const showMark = () => { mark.textContent = isPaused ? '○ Paused. Go on' : refreshedAt === 0 ? '▲ Not up to date. Pause' : '● Live. Pause'; };
if (live !== null && cursor) {
  let timer;
  const loop = () => { timer = undefined; return look().catch(() => { refreshedAt = 0; waitMs = Math.min(waitMs * 2, 60000); }).finally(() => { showMark(); timer = setTimeout(loop, waitMs); }); };
  timer = setTimeout(loop, waitMs);
  document.addEventListener('visibilitychange', () => { if (!document.hidden && timer !== undefined) { clearTimeout(timer); return loop(); } });
  mark.hidden = false;
  mark.addEventListener('click', () => {
    isPaused = !isPaused;
    mark.setAttribute('aria-pressed', String(isPaused));
    showMark();
  });
}
const offerCopies = () => { for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false; };
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (button === null) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = 'Copied';
});
offerCopies();
const toast = document.querySelector('.toast');
if (toast !== null) setTimeout(() => toast.remove(), 8000);
const help = document.getElementById('help');
const search = document.getElementById('search');
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || search === null) return;
  if (event.target.closest('input, select, textarea') !== null) return;
  if (event.key === '?' && !help.open) return help.showModal();
  if (event.key !== '/') return;
  event.preventDefault();
  search.focus();
  search.select();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  if (event.target === search) return search.blur();
  const menu = event.target.closest?.('details.menu[open]');
  if (!menu || menu.querySelector('summary').offsetParent === null) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
const own = document.querySelector('[data-own-zone]');
if (own !== null) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const select = document.getElementById('tz');
  own.hidden = false;
  own.textContent = 'Use ' + zone + ', the zone of this browser';
  own.addEventListener('click', () => { select.add(new Option(zone)); select.value = zone; });
}
`;
