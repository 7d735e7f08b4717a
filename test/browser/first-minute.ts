/**
 * `npx node test/browser/first-minute.ts` runs `npm start` until its story has led to an alert, and writes one picture of the
 * terminal, of the alert as Slack shows its blocks, and of the console to docs/screenshots/first-minute.webp.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { launch, type RunningBridge, startCalmBridge } from './bridge-in-browser.ts';
import { signInHere } from './pictured-pages.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');

interface Block {
  readonly type: string;
  readonly text?: { readonly text: string };
  readonly fields?: readonly { readonly text: string }[];
}

interface Message {
  readonly attachments: readonly [{ readonly color: string; readonly blocks: readonly Block[] }];
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Shows the marks of Slack's texts that alerts use. */
function slackHtml(text: string): string {
  // A reader of Slack sees a time in the own zone, and where that is not known what stands behind the bar.
  return escaped(text.replaceAll(/<!date[^|]*\|([^>]*)>/g, '$1'))
    .replaceAll(/\*([^*\n]+)\*/g, '<b>$1</b>')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll('\n', '<br>');
}

function blockHtml({ type, text, fields }: Block): string {
  if (fields !== undefined)
    return `<div class=fields>${fields
      .slice(0, 6)
      .map((field) => `<span>${slackHtml(field.text)}</span>`)
      .join('')}</div>`;
  if (text === undefined) return '';
  return type === 'header' ? `<h2>${escaped(text.text)}</h2>` : `<p>${slackHtml(text.text)}</p>`;
}

function slackCard(): string {
  const file = resolve(DOCS, 'alerts/given_up.slack.json');
  const { attachments } = JSON.parse(readFileSync(file, 'utf8')) as Message;
  const [{ color, blocks }] = attachments;
  return `<div class=slack style="border-left-color:${color}">${blocks.slice(0, 3).map(blockHtml).join('')}</div>`;
}

/** The terminal of the run has these colours; a pipe gets none. */
function lineHtml(line: string): string {
  const colours: readonly (readonly [RegExp, string])[] = [
    [/ALERT/, '#ffa198'],
    [/-> (failed|error)| {2}branch +failed/, '#ff7b72'],
    [/-> finished/, '#7ee787'],
    [/-> (skipped|cancelled)/, '#e3b341'],
    [/-> (running|scheduling)/, '#79c0ff'],
    [/Account Watched| {2}(compute|branch) /, '#d2a8ff'],
  ];
  const colour = colours.find(([pattern]) => pattern.test(line))?.[1] ?? '#c9d1d9';
  return `<span style="color:${colour}">${escaped(line)}</span>`;
}

function terminal(output: string): string {
  const lines = output.split('\n');
  const from = lines.findIndex((line) => line.startsWith('time '));
  const shown = lines.slice(from).filter((line) => !/suspend_compute|compute {2,}not known/.test(line));
  return `<pre>$ npm start\n\n${shown.map(lineHtml).join('\n')}</pre>`;
}

const STYLE = `
  body { margin: 0; padding: 18px; background: #e8ebf0; font: 15px/1.4 system-ui, sans-serif; width: 1500px;
         display: grid; grid-template-columns: 860px 1fr; gap: 18px; }
  pre { margin: 0; padding: 16px; background: #0d1117; color: #c9d1d9; border-radius: 8px; font: 13px/1.38 monospace; overflow: hidden; height: 830px; }
  .slack { background: #fff; border-left: 5px solid; border-radius: 6px; padding: 4px 16px 12px; }
  .slack h2 { font-size: 18px; margin: 8px 0; } .slack p { margin: 8px 0; }
  .fields { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; }
  code { color: #b3261e; font-size: 12.5px; }
  img { width: 100%; border-radius: 8px; margin-top: 18px; box-shadow: 0 1px 5px #0003; display: block; }`;

async function consolePage(page: Page, bridge: RunningBridge): Promise<string> {
  await signInHere(page, bridge);
  await page.goto(bridge.link);
  const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 1000, height: 760 } });
  return `<img src="data:image/png;base64,${picture.toString('base64')}">`;
}

const bridge = await startCalmBridge(/ALERT {2}Critical[\s\S]*?Open: (http\S+)/);
try {
  await using browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1000, height: 760 } });
  const picture = await consolePage(page, bridge);
  const output = await bridge.printed(/([\s\S]*)/);
  // The console's own policy would forbid the style.
  const frame = await browser.newPage({ viewport: { width: 1536, height: 900 } });
  await frame.setContent(`<style>${STYLE}</style>${terminal(output)}<div>${slackCard()}${picture}</div>`);
  const tools = await frame.context().newCDPSession(frame);
  const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: 60 });
  writeFileSync(resolve(DOCS, 'screenshots/first-minute.webp'), Buffer.from(data, 'base64'));
  console.log('docs/screenshots/first-minute.webp');
} finally {
  bridge.stop();
}
