/** Makes small pieces of HTML that every page uses. The template escapes all text, and nothing here undoes that. */

import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Makes a list of names and values, and leaves out each pair without a value. */
export function facts(pairs: readonly (readonly [string, Html | string | number | undefined])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Makes the sentence that stands where a list would be. */
export function empty(sentence: string): Html {
  return html`<p class="empty">${sentence}</p>`;
}

export function json(value: unknown): Html {
  return html`<pre tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}

/** Makes the heading of a page with what can be done on it, which stands at the end of the same line. */
export function pageHead(title: Html | string, actions: Html | ''): Html {
  return html`<div class="head"><h1>${title}</h1>${actions}</div>`;
}

/** Returns a number with its noun, as `1 project` or `5 projects`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Makes the content of a page that has only one thing to say. */
export function simple(title: string, sentence: string): Html {
  return html`<h1>${title}</h1><p class="empty">${sentence}</p>`;
}
