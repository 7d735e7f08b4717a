/** Draws the one picture of the architecture, docs/architecture.svg, from its boxes and arrows. */

import type { GeneratedFile } from './generated-sections.ts';

type Point = readonly [x: number, y: number];

interface Box {
  readonly at: Point;
  readonly lines: readonly string[];
  /** The functions of the bridge are filled, and what is not the bridge is dashed. */
  readonly kind: 'function' | 'store' | 'outside';
}

const BOX: Point = [190, 64];

const BOXES: readonly Box[] = [
  { at: [20, 130], kind: 'outside', lines: ['Neon API', '700 requests a minute'] },
  { at: [300, 40], kind: 'function', lines: ['poller', 'a Lambda, every minute'] },
  { at: [300, 130], kind: 'function', lines: ['worker', 'queued commands'] },
  { at: [300, 220], kind: 'function', lines: ['API and console', 'tokens instead of the key'] },
  { at: [580, 130], kind: 'store', lines: ['DynamoDB', 'state, outbox, cursor'] },
  { at: [580, 40], kind: 'store', lines: ['EventBridge bus', 'archive, schemas'] },
  { at: [860, 40], kind: 'outside', lines: ['your rules', 'queues, Lambdas, HTTPS'] },
  { at: [860, 130], kind: 'function', lines: ['notifier', 'one alert a trouble'] },
  { at: [860, 220], kind: 'outside', lines: ['people', 'Slack, PagerDuty, mail'] },
  { at: [300, 320], kind: 'outside', lines: ['your apps and CI', 'curl, SDKs, the command'] },
];

interface Arrow {
  readonly path: readonly Point[];
  readonly says?: string;
  readonly label?: Point;
}

const ARROWS: readonly Arrow[] = [
  {
    path: [
      [300, 72],
      [115, 72],
      [115, 130],
    ],
    says: '1 read',
    label: [150, 64],
  },
  {
    path: [
      [490, 88],
      [535, 88],
      [535, 150],
      [580, 150],
    ],
    says: '2 record',
    label: [541, 118],
  },
  {
    path: [
      [490, 60],
      [580, 60],
    ],
    says: '3 publish',
    label: [500, 52],
  },
  {
    path: [
      [770, 60],
      [860, 60],
    ],
  },
  {
    path: [
      [770, 84],
      [815, 84],
      [815, 162],
      [860, 162],
    ],
  },
  {
    path: [
      [955, 194],
      [955, 220],
    ],
  },
  {
    path: [
      [300, 162],
      [210, 162],
    ],
    says: 'send',
    label: [240, 154],
  },
  {
    path: [
      [300, 252],
      [115, 252],
      [115, 194],
    ],
    says: 'pass on',
    label: [150, 244],
  },
  {
    path: [
      [395, 220],
      [395, 194],
    ],
  },
  {
    path: [
      [490, 252],
      [675, 252],
      [675, 194],
    ],
  },
  {
    path: [
      [395, 320],
      [395, 284],
    ],
  },
];

const FILLS = { function: '#dbe9ff', store: '#e6f4ea', outside: '#ffffff' } as const;

function boxOf({ at: [x, y], lines: [title = '', text = ''], kind }: Box): string {
  const dashes = kind === 'outside' ? ' stroke-dasharray="5 4"' : '';
  const middle = x + BOX[0] / 2;
  return (
    `<rect x="${x}" y="${y}" width="${BOX[0]}" height="${BOX[1]}" rx="8" fill="${FILLS[kind]}" stroke="#57606a"${dashes}/>` +
    `<text x="${middle}" y="${y + 27}" text-anchor="middle" font-weight="600">${title}</text>` +
    `<text x="${middle}" y="${y + 47}" text-anchor="middle" font-size="12" fill="#57606a">${text}</text>`
  );
}

function arrowOf({ path, says, label: [x, y] = [0, 0] }: Arrow): string {
  const points = path.map((point) => point.join(',')).join(' ');
  const text = says === undefined ? '' : `<text x="${x}" y="${y}" font-size="12">${says}</text>`;
  return `<polyline points="${points}" fill="none" stroke="#57606a" stroke-width="1.5" marker-end="url(#end)"/>${text}`;
}

export function architecturePicture(): GeneratedFile {
  const parts = [...ARROWS.map(arrowOf), ...BOXES.map(boxOf)];
  const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1070 404" font-family="system-ui, sans-serif" font-size="15" fill="#1f2328">
<defs><marker id="end" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 Z" fill="#57606a"/></marker></defs>
<rect width="1070" height="404" fill="#f6f8fa"/>
${parts.join('\n')}
</svg>
`;
  return { path: 'docs/architecture.svg', text };
}
