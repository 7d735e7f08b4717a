/** Draws the one picture of the architecture, docs/architecture.svg, from its boxes and arrows. */

import type { GeneratedFile } from './generated-sections.ts';

const [WIDTH, HEIGHT] = [190, 64];

/** A line has the place and the colour of a box, its name and its second line. What is not the bridge is white. */
const BOXES = `20 130 #ffffff Neon API|700 requests a minute
300 40 #dbe9ff poller|a Lambda, every minute
300 130 #dbe9ff worker|queued commands
300 220 #dbe9ff API and console|tokens instead of the key
580 130 #e6f4ea DynamoDB|state, outbox, cursor
580 40 #e6f4ea EventBridge bus|archive, schemas
860 40 #ffffff your rules|queues, Lambdas, HTTPS
860 130 #dbe9ff notifier|one alert a trouble
860 220 #ffffff people|Slack, PagerDuty, mail
300 320 #ffffff your apps and CI|curl, SDKs, the command`;

/** A line has the corners of an arrow, and perhaps its label with the place of that. */
const ARROWS = `300,72 115,72 115,130|1 read|150,64
490,88 535,88 535,150 580,150|2 record|541,118
490,60 580,60|3 publish|500,52
770,60 860,60
770,84 815,84 815,162 860,162
955,194 955,220
300,162 210,162|send|240,154
300,252 115,252 115,194|pass on|150,244
395,220 395,194
490,252 675,252 675,194
395,320 395,284`;

function boxOf(line: string): string {
  const [, x = '', y = '', fill = '', name = '', text = ''] =
    /^(\d+) (\d+) (\S+) (.*)\|(.*)$/.exec(line) ?? [];
  const dashes = fill === '#ffffff' ? ' stroke-dasharray="5 4"' : '';
  const middle = Number(x) + WIDTH / 2;
  return `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="8" fill="${fill}" stroke="#57606a"${dashes}/>
<text x="${middle}" y="${Number(y) + 27}" text-anchor="middle" font-weight="600">${name}</text>
<text x="${middle}" y="${Number(y) + 47}" text-anchor="middle" font-size="12" fill="#57606a">${text}</text>`;
}

function arrowOf(line: string): string {
  const [points = '', label, place = ''] = line.split('|');
  const [x, y] = place.split(',');
  const text = label === undefined ? '' : `<text x="${x}" y="${y}" font-size="12">${label}</text>`;
  return `<polyline points="${points}" fill="none" stroke="#57606a" stroke-width="1.5" marker-end="url(#end)"/>${text}`;
}

export function architecturePicture(): GeneratedFile {
  const parts = [...ARROWS.split('\n').map(arrowOf), ...BOXES.split('\n').map(boxOf)];
  const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1070 404" font-family="system-ui, sans-serif" font-size="15" fill="#1f2328">
<title>Four functions around one table and one bus</title>
<defs><marker id="end" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 Z" fill="#57606a"/></marker></defs>
<rect width="1070" height="404" fill="#f6f8fa"/>
${parts.join('\n')}
</svg>
`;
  return { path: 'docs/architecture.svg', text };
}
