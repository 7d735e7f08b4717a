/** Draws how a whole divides into parts as one bar. A legend has the numbers and leads to each part that is not empty. */

import { html } from 'hono/html';
import type { Html } from '../markup.ts';

export interface Part {
  readonly name: string;
  readonly count: number;
  readonly tone: 'bad' | 'odd' | 'accent' | 'busy' | 'well';
  readonly path: string;
}

const WIDTH = 1_000;

/** A part that is not empty is at least this wide, so that one project among thousands is seen. */
const PART_WIDTH_MIN = 6;

export function shareBar(label: string, parts: readonly Part[]): Html {
  const total = Math.max(
    1,
    parts.reduce((sum, { count }) => sum + count, 0),
  );
  const widths = parts.map(({ count }) =>
    count === 0 ? 0 : Math.max(PART_WIDTH_MIN, Math.round((count / total) * WIDTH)),
  );
  const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, width) => sum + width, 0));
  const whole = Math.max(WIDTH, (starts.at(-1) ?? 0) + (widths.at(-1) ?? 0));
  return html`<svg class="share" viewBox="0 0 ${whole} 10" preserveAspectRatio="none" role="img" aria-label="${label}: ${parts.map(({ name, count }) => `${count} ${name}`).join(', ')}">
${parts.map(({ tone }, index) => html`<rect class="bar ${tone}" x="${starts[index]}" y="0" width="${widths[index]}" height="10"/>`)}</svg>
<ul class="legend">${parts.filter(({ count }) => count > 0).map(({ name, count, tone, path }) => html`<li><span class="swatch ${tone}" aria-hidden="true">■</span> <a href="${path}">${count} ${name}</a></li>`)}</ul>`;
}
