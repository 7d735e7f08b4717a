/**
 * Renders the OpenAPI document as a page. It can be read without script, and with script a reader can try a call. Its
 * style and its script stand here as text, because the function is one file, and the page's policy admits only these
 * two, by their hashes.
 */

import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { OpenApiDocument, OpenApiOperation, Parameter } from './openapi.ts';

const PAGE_STYLE = `
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

const PAGE_SCRIPT = `
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

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/**
 * This Content-Security-Policy loads nothing from elsewhere, allows nothing inline but this style and this script,
 * and allows requests to this origin only.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(PAGE_SCRIPT)}`,
  `style-src ${hashOf(PAGE_STYLE)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function docsPage(document: OpenApiDocument): string {
  const listed: readonly Listed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    calls: listed.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Operations Bridge API</title>
<style>${raw(PAGE_STYLE)}</style>
</head>
<body>
<header>
<h1>Operations Bridge API</h1>
<p>Send a token as <code>Authorization: Bearer opb_...</code>. The <a href="openapi.json">OpenAPI document</a> has all of
this for programs. Errors are problem documents that name the field at fault; errors of the upstream pass as they are.</p>
<div class="tools">
<label>Token, kept on this page only <input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="opb_..."></label>
<label>Find a call <input id="find" type="search" placeholder="restart, events, ..."></label>
</div>
</header>
<main>
${groups.map(
  ({ name, description, calls }) => html`<section>
<h2>${name}</h2>
<p>${description}</p>
${calls.map(callPart)}
</section>`,
)}
</main>
<script>${raw(PAGE_SCRIPT)}</script>
</body>
</html>`;
  return (page as HtmlEscapedString).toString();
}

function callPart({ method, path, operation }: Listed): Html {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  return html`<details class="call" id="${operationId}" data-method="${method}" data-path="${path}">
<summary><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code> <span class="what">${summary}</span></summary>
${description.split('\n\n').map((part) => html`<p>${codeIn(part)}</p>`)}
${parameters.length > 0 ? parameterTable(parameters) : ''}
${requestBody === undefined ? '' : bodyPart(requestBody)}
<h3>Answers</h3>
<ul>${Object.entries(responses).map(([status, response]) => html`<li><b>${status}</b> ${(response as { description: string }).description}</li>`)}</ul>
<form class="try" hidden><button type="submit">Try it</button> <output></output></form>
</details>`;
}

function parameterTable(parameters: readonly Parameter[]): Html {
  return html`<table>
<thead><tr><th>Parameter</th><th>Where</th><th>Value</th></tr></thead>
<tbody>${parameters.map(
    (parameter) => html`<tr>
<td><code>${parameter.name}</code>${parameter.required ? html` <small>required</small>` : ''}</td>
<td>${parameter.in}</td>
<td><input data-in="${parameter.in}" data-name="${parameter.name}" aria-label="${parameter.name}" placeholder="${hintOf(parameter)}">${
      parameter.description === undefined ? '' : html` <small>${parameter.description}</small>`
    }</td></tr>`,
  )}</tbody>
</table>`;
}

function hintOf({ schema }: Parameter): string {
  const { type = 'text', pattern, default: usual, enum: values, minimum, maximum } = schema as Hints;
  if (values !== undefined) return values.join(' | ');
  const range = minimum === undefined ? '' : ` ${minimum} to ${maximum}`;
  const preset = usual === undefined ? '' : `, default ${usual}`;
  return pattern ?? `${type}${range}${preset}`;
}

interface Hints {
  readonly type?: string;
  readonly pattern?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

function bodyPart(requestBody: object): Html {
  const { content } = requestBody as { content: Record<string, { schema: object }> };
  const schema = content['application/json']?.schema ?? {};
  return html`<h3>Body, JSON or form-encoded</h3>
<textarea data-in="body" rows="5" aria-label="Body" spellcheck="false">${JSON.stringify(skeletonOf(schema), null, 2)}</textarea>
<details><summary>Schema</summary><pre>${JSON.stringify(schema, null, 2)}</pre></details>`;
}

/** Returns an example body with the required fields, which the reader can change. */
function skeletonOf(schema: object): unknown {
  const {
    type,
    properties = {},
    required = [],
    items,
    enum: values,
  } = schema as {
    type?: string;
    properties?: Record<string, object>;
    required?: readonly string[];
    items?: object;
    enum?: readonly unknown[];
  };
  if (values !== undefined) return values[0];
  if (type === 'object')
    return Object.fromEntries(required.map((name) => [name, skeletonOf(properties[name] ?? {})]));
  if (type === 'array') return [skeletonOf(items ?? {})];
  if (type === 'number' || type === 'integer') return 0;
  return type === 'boolean' ? false : '';
}

function codeIn(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
