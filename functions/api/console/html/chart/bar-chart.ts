/** Draws numbers by the hour as bars with axes, on the server. A table below the chart has the same values. */

import { html } from 'hono/html';
import type { Html } from '../markup.ts';

interface Bar {
  /** The bar begins at this time on the axis, such as `14:00`. */
  readonly label: string;
  readonly value: number;
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  /** What the axis of values counts, such as `operations`. */
  readonly unit: string;
  readonly tone: 'accent' | 'bad';
  readonly bars: readonly Bar[];
}

/** The chart is drawn in these units, and scales with its column. Its text stays readable on a phone. */
const WIDTH = 400;
const HEIGHT = 150;
const LEFT = 34;
const BOTTOM = 18;
const TOP = 10;

/** The time stands below every sixth bar. */
const LABELLED_BARS = 6;

export function barChart({ id, title, unit, tone, bars }: BarChart): Html {
  const top = axisTop(Math.max(0, ...bars.map(({ value }) => value)));
  const floor = HEIGHT - BOTTOM;
  const y = (value: number) => Math.round((floor - (value / top) * (floor - TOP)) * 10) / 10;
  const step = (WIDTH - LEFT) / Math.max(1, bars.length);
  const x = (index: number) => Math.round((LEFT + index * step) * 10) / 10;
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  return html`<figure><figcaption><b>${title}</b> · ${total} ${unit} in ${bars.length} hours</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: ${total} ${unit} in ${bars.length} hours, at most ${Math.max(0, ...bars.map(({ value }) => value))} in one. The table below has all values.">
${ticksOf(top).map((tick) => html`<line class="axis" x1="${LEFT}" y1="${y(tick)}" x2="${WIDTH}" y2="${y(tick)}"/><text x="${LEFT - 5}" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`)}
${bars.map(({ label, value }, index) => (value === 0 ? '' : html`<rect class="bar ${tone}" x="${x(index)}" y="${y(value)}" width="${Math.max(2, Math.round(step - 2))}" height="${Math.max(0, floor - y(value))}" rx="1"><title>${label}: ${value} ${unit}</title></rect>`))}
${bars.map(({ label }, index) => ((bars.length - 1 - index) % LABELLED_BARS === 0 ? html`<text x="${index === bars.length - 1 ? WIDTH : x(index + 0.5)}" y="${HEIGHT - 4}" text-anchor="${index === bars.length - 1 ? 'end' : 'middle'}">${label}</text>` : ''))}
</svg>
<details id="${id}"><summary class="quiet">All values</summary><table><thead><tr><th>Hour from</th><th class="number">${unit}</th></tr></thead><tbody>${bars.toReversed().map(({ label, value }) => html`<tr><td>${label}</td><td class="number">${value}</td></tr>`)}</tbody></table></details></figure>`;
}

/** Returns the end of the axis: 4, or the next of 10, 20, 40, 50, 80, 100, 200, ... that is not below the value. */
export function axisTop(value: number): number {
  if (value <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 5, 8, 10].find((each) => each * power >= value) ?? 10;
  return factor * power;
}

/** Halves and quarters of small axes would be no whole numbers. */
function ticksOf(top: number): readonly number[] {
  return top % 4 === 0 ? [0, top / 2, top] : top % 2 === 0 ? [0, top / 2, top] : [0, top];
}
