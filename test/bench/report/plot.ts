/** Draws mean delay against requests a minute, both logarithmic, for light and dark backgrounds. */

import type { Figures } from '../measure.ts';

const WIDTH = 720;
const HEIGHT = 420;
const MARGIN = { left: 56, right: 150, top: 36, bottom: 46 };
const COLOURS = ['#0b7285', '#c2410c', '#6741d9', '#2b8a3e', '#a61e4d', '#495057'];

interface Line {
  readonly name: string;
  /**
   * Each point has the requests a minute and then the mean delay in seconds. The points rise by the requests a
   * minute.
   */
  readonly points: readonly (readonly [number, number])[];
  readonly isBound: boolean;
}

export function delayPlot(rows: readonly Figures[]): string {
  const lines = linesOf(rows);
  const all = lines.flatMap(({ points }) => points);
  const x = logScale(
    all.map(([rpm]) => rpm),
    MARGIN.left,
    WIDTH - MARGIN.right,
  );
  const y = logScale(
    all.map(([, delay]) => delay),
    HEIGHT - MARGIN.bottom,
    MARGIN.top,
  );
  const [first] = rows;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>Mean delay of a transition against requests a minute, ${first?.projects} projects</title>
<style>text { fill: #343a40 } .grid { stroke: #adb5bd; stroke-width: .5 } @media (prefers-color-scheme: dark) { text { fill: #dee2e6 } .grid { stroke: #495057 } }</style>
<text x="${MARGIN.left}" y="18" font-weight="600">Mean delay of a transition, ${first?.projects} projects, seconds</text>
${y.ticks.map((tick) => `<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y.at(tick)}" y2="${y.at(tick)}"/><text x="${MARGIN.left - 8}" y="${y.at(tick) + 4}" text-anchor="end">${tick}</text>`).join('\n')}
${[...new Set(all.map(([rpm]) => rpm))].map((rpm) => `<line class="grid" x1="${x.at(rpm)}" x2="${x.at(rpm)}" y1="${MARGIN.top}" y2="${HEIGHT - MARGIN.bottom}"/><text x="${x.at(rpm)}" y="${HEIGHT - MARGIN.bottom + 18}" text-anchor="middle">${rpm}</text>`).join('\n')}
<text x="${(MARGIN.left + WIDTH - MARGIN.right) / 2}" y="${HEIGHT - 8}" text-anchor="middle">requests a minute</text>
${lines.map((line, place) => drawn(line, COLOURS[place % COLOURS.length] ?? '#000', { x: x.at, y: y.at })).join('\n')}
</svg>
`;
}

function linesOf(rows: readonly Figures[]): readonly Line[] {
  const names = [...new Set(rows.map(({ policy }) => policy))];
  const lineOf = (name: string, of: (row: Figures) => number, own: readonly Figures[]): Line => ({
    name,
    isBound: name === 'bound',
    points: means(own.map((row) => [row.requests_per_minute, of(row)])),
  });
  return [
    ...names.map((name) =>
      lineOf(
        name,
        ({ mean_s }) => mean_s,
        rows.filter(({ policy }) => policy === name),
      ),
    ),
    lineOf('bound', ({ bound_s }) => bound_s, rows),
  ];
}

/** Averages over the seeds and sorts by the first coordinate. */
function means(points: readonly (readonly [number, number])[]): Line['points'] {
  const byX = Map.groupBy(points, ([x]) => x);
  return [...byX]
    .map(([x, own]) => [x, own.reduce((sum, [, y]) => sum + y, 0) / own.length] as const)
    .toSorted(([a], [b]) => a - b);
}

function drawn(
  { name, points, isBound }: Line,
  colour: string,
  { x, y }: { readonly x: (value: number) => number; readonly y: (value: number) => number },
): string {
  const path = points.map(([rpm, delay]) => `${x(rpm)},${y(delay)}`).join(' ');
  const [lastX = 0, lastY = 1] = points.at(-1) ?? [];
  const dots = points.map(
    ([rpm, delay]) => `<circle cx="${x(rpm)}" cy="${y(delay)}" r="3" fill="${colour}"/>`,
  );
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"${isBound ? ' stroke-dasharray="5 4"' : ''}/>${isBound ? '' : dots.join('')}<text x="${x(lastX) + 8}" y="${y(lastY) + 4}" style="fill: ${colour}">${name}</text>`;
}

function logScale(values: readonly number[], from: number, to: number) {
  const low = Math.log10(Math.min(...values));
  const high = Math.max(low + 0.1, Math.log10(Math.max(...values)));
  const ticks = Array.from({ length: 12 }, (_, place) => {
    const power = 10 ** (Math.floor(low) + Math.floor(place / 3));
    return Number((power * ([1, 2, 5][place % 3] ?? 1)).toPrecision(1));
  });
  return {
    at: (value: number) =>
      Math.round(10 * (from + ((Math.log10(value) - low) / (high - low)) * (to - from))) / 10,
    ticks: ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high),
  };
}
