/** The small parts that every page is made of. Text from anywhere is escaped by the template; nothing here undoes that. */

import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const TONES: Readonly<Record<string, string>> = {
  finished: 'good',
  skipped: 'calm',
  cancelled: 'calm',
  failed: 'bad',
  error: 'bad',
  running: 'busy',
  scheduling: 'busy',
  cancelling: 'busy',
  active: 'good',
  idle: 'calm',
  init: 'busy',
};

/** A mark beside the word, for whoever cannot tell the colours apart. */
const MARKS: Readonly<Record<string, string>> = { good: '●', calm: '○', bad: '▲', busy: '◐', odd: '?' };

export function toneOf(status: string): string {
  return TONES[status] ?? 'odd';
}

export function badge(status: string): Html {
  const tone = toneOf(status);
  return html`<span class="badge ${tone}"><span aria-hidden="true">${MARKS[tone] ?? ''}</span> ${status}</span>`;
}

/** Readable as it is; the script puts it into the reader's zone and keeps UTC for the pointer. */
export function time(iso: string | undefined): Html {
  if (iso === undefined || Number.isNaN(Date.parse(iso))) return html`<span class="quiet">unknown</span>`;
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}

export function age(iso: string | undefined, nowMs: number): string {
  if (iso === undefined) return 'never';
  return `${duration(Math.max(0, nowMs - Date.parse(iso)))} ago`;
}

export function duration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1_000).toFixed(1)} s`;
  if (durationMs < 3_600_000)
    return `${Math.floor(durationMs / 60_000)} min ${Math.round((durationMs % 60_000) / 1_000)} s`;
  if (durationMs < 172_800_000)
    return `${Math.floor(durationMs / 3_600_000)} h ${Math.round((durationMs % 3_600_000) / 60_000)} min`;
  return `${Math.round(durationMs / 86_400_000)} days`;
}

export function projectPath(accountId: string, projectId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/projects/${encodeURIComponent(projectId)}`;
}

export function operationPath(accountId: string, projectId: string, operationId: string): string {
  return `${projectPath(accountId, projectId)}/operations/${encodeURIComponent(operationId)}`;
}

export function facts(pairs: readonly (readonly [string, Html | string | number | undefined])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function empty(sentence: string): Html {
  return html`<p class="empty">${sentence}</p>`;
}

export function json(value: unknown): Html {
  return html`<pre tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}
