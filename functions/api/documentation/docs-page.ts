/**
 * Renders the OpenAPI document as a page. It can be read without script, and with script a reader can try a call with
 * a token.
 */

import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { OpenApiDocument, OpenApiOperation } from './openapi.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './page-assets.ts';
import type { Parameter } from './request-parts.ts';

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
