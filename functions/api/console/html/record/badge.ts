/** Shows the status of an operation, a compute or a branch as a coloured word with a mark. */

import { html } from 'hono/html';
import type { Html } from '../markup.ts';

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
  pending: 'busy',
  ready: 'good',
  queued: 'busy',
  sent: 'busy',
  succeeded: 'good',
  refused: 'bad',
  expired: 'bad',
  incomplete: 'bad',
};

/** A mark stands beside the word, for people who cannot distinguish the colours. */
const MARKS: Readonly<Record<string, string>> = { good: '●', calm: '○', bad: '▲', busy: '◐', odd: '?' };

/** Returns the class name of the status's colour, which is `odd` for an unknown status. */
export function toneOf(status: string): string {
  return TONES[status] ?? 'odd';
}

export function badge(status: string): Html {
  const tone = toneOf(status);
  return html`<span class="badge ${tone}"><span aria-hidden="true">${MARKS[tone] ?? ''}</span> ${status}</span>`;
}
