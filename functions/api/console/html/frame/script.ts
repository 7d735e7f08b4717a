/** Holds the script of the console. Pages are complete without it; it refreshes them, copies texts, focuses the search and closes the menu. */

export const SCRIPT = `
const live = document.querySelector('[data-live]');
let cursor = live?.dataset.live;
let waitMs = 2000;
const refresh = async () => {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  const next = page.querySelector('[data-live]');
  if (next === null) return location.reload();
  if (live.contains(document.activeElement) && document.activeElement.matches('input, select, textarea')) return;
  const open = new Set([...live.querySelectorAll('details[open][id]')].map((details) => details.id));
  live.replaceChildren(...next.childNodes);
  for (const details of live.querySelectorAll('details[id]')) details.open = details.open || open.has(details.id);
  live.classList.remove('fresh');
  void live.offsetWidth;
  live.classList.add('fresh');
  offerCopies(live);
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
const offerCopies = (root) => {
  for (const button of root.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = 'Copied';
    });
  }
};
offerCopies(document);
const search = document.getElementById('search');
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || search === null) return;
  if (event.target.closest('input, select, textarea') !== null) return;
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
  if ([...select.options].some((option) => option.value === zone)) {
    own.hidden = false;
    own.textContent = 'Use ' + zone + ', the zone of this browser';
    own.addEventListener('click', () => { select.value = zone; });
  }
}
`;
