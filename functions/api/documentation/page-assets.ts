/**
 * Holds the style and the script of the documentation page as text, because the function is one file, and the page's
 * policy admits only these two, by their hashes.
 */

export const PAGE_STYLE = `
:root { color-scheme: light dark; --bg: #fff; --text: #14171c; --line: #d0d4dc; --soft: #f4f5f8; --quiet: #5a6272; --link: #0b57d0; --ok: #146c2e; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1115; --text: #e8eaee; --line: #3a404c; --soft: #1d2129; --quiet: #a3acbc; --link: #8ab4f8; --ok: #7fd493; --bad: #f2a49d; } }
* { box-sizing: border-box; }
html { background: var(--bg); color: var(--text); }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .25rem; font-size: 1.7rem; } h2 { margin: 2.2rem 0 .25rem; font-size: 1.25rem; } h3 { margin: 1rem 0 .25rem; font-size: 1rem; }
p { margin: .25rem 0 .75rem; } section > p, small, .what { color: var(--quiet); } a { color: var(--link); }
code, pre, textarea, table input { font: 14px/1.45 ui-monospace, monospace; }
.tools { display: flex; flex-wrap: wrap; gap: 1rem; } .tools label { flex: 1 1 16rem; color: var(--quiet); font-size: .9rem; }
input, textarea { width: 100%; padding: .4rem .5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--bg); color: var(--text); }
.call { margin: .4rem 0; padding: 0 .75rem; border: 1px solid var(--line); border-radius: 8px; } .call[open] { padding-bottom: .75rem; }
.call > summary { padding: .5rem 0; cursor: pointer; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.4rem; padding: 0 .4rem; border: 1px solid currentColor; border-radius: 4px; font: 600 12px/1.6 ui-monospace, monospace; text-align: center; }
.get { color: var(--link); } .post { color: var(--ok); } .patch { color: var(--quiet); } .delete { color: var(--bad); }
table { width: 100%; border-collapse: collapse; } th, td { padding: .3rem .4rem; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th { border: 0; color: var(--quiet); font-weight: 600; font-size: .85rem; } td:last-child { width: 55%; }
pre, output { display: block; margin: .5rem 0 0; padding: .6rem; border-radius: 6px; background: var(--soft); overflow: auto; max-height: 24rem; white-space: pre-wrap; overflow-wrap: anywhere; }
output:empty { display: none; }
button { padding: .45rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--soft); color: inherit; font: inherit; cursor: pointer; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; } [hidden] { display: none; }
@media (max-width: 40rem) { td, th { display: block; width: auto !important; border: 0; padding: .1rem 0; } thead { display: none; } .what { display: block; } }
`;

export const PAGE_SCRIPT = `
const token = document.getElementById('token');
document.getElementById('find').addEventListener('input', (event) => {
  const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const call of document.querySelectorAll('.call')) {
    const text = call.textContent.toLowerCase();
    call.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of document.querySelectorAll('section')) section.hidden = !section.querySelector('.call:not([hidden])');
});
for (const call of document.querySelectorAll('.call')) {
  const form = call.querySelector('.try');
  const output = form.querySelector('output');
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const method = call.dataset.method;
    if (method !== 'GET' && !confirm(method + ' is carried out for real. Send it?')) return;
    const query = new URLSearchParams();
    const headers = {};
    let path = call.dataset.path;
    let body;
    for (const field of call.querySelectorAll('[data-in]')) {
      const value = field.value.trim();
      if (field.dataset.in === 'path') path = path.replace('{' + field.dataset.name + '}', encodeURIComponent(value));
      else if (field.dataset.in === 'body') body = value;
      else if (value !== '' && field.dataset.in === 'query') query.set(field.dataset.name, value);
      else if (value !== '') headers[field.dataset.name] = value;
    }
    if (token.value.trim() !== '') headers.authorization = 'Bearer ' + token.value.trim();
    if (body !== undefined) headers['content-type'] = 'application/json';
    output.textContent = 'Waiting ...';
    try {
      const response = await fetch(path + (query.size > 0 ? '?' + query : ''), { method, headers, body });
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch {}
      output.textContent = response.status + ' ' + response.statusText + '\\n\\n' + shown;
    } catch (error) {
      output.textContent = 'The request did not get through: ' + error.message;
    }
  });
}
if (location.hash !== '') document.querySelector('details' + location.hash)?.setAttribute('open', '');
`;
