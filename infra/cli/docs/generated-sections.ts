/**
 * Writes the generated sections of pages that people write: the calls, scopes and bundles of the API, the help of the
 * command, and the examples of docs/deploy/subscribe.md, which the generator of the command makes, so that they cannot
 * differ. It draws docs/architecture.svg from its boxes and arrows.
 */

import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import type { Command, Option } from 'commander';
import { SCOPE_BUNDLES, SCOPE_MEANINGS, SCOPES, SCOPES_BY_NAME } from '../../../shared/callers/scopes.ts';
import { SUBJECT_NAMES, subjectOf, TARGET_KINDS } from '../../../shared/events/subscription/subscription.ts';
import { allCalls, calls } from '../../../shared/upstream/calls/calls.ts';
import { simulatedCalls } from '../../simulator/start-upstream.ts';
import { createProgram } from '../subcommands/program.ts';

export interface GeneratedFile {
  /** The path is relative to the project's root. */
  readonly path: string;
  readonly text: string;
}

/** The section stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Throws when the page lacks one of these lines. */
export function withSection(path: string, name: string, content: string): GeneratedFile {
  return withSections(path, { [name]: content });
}

/** Replaces several sections of one page, by their names. */
export function withSections(path: string, contents: Readonly<Record<string, string>>): GeneratedFile {
  const page = readFileSync(path, 'utf8');
  const text = Object.entries(contents).reduce(
    (before, [name, content]) => replaceSection(before, { path, name, content }),
    page,
  );
  return { path, text };
}

interface Section {
  readonly path: string;
  readonly name: string;
  readonly content: string;
}

function replaceSection(page: string, { path, name, content }: Section): string {
  const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} lacks the lines "${start}" and "${end}"`);
  return `${page.slice(0, from + start.length)}\n\n${content.trim()}\n\n${page.slice(to)}`;
}

export function callDocs(): readonly GeneratedFile[] {
  return [
    withSection('docs/upstream.md', 'calls', callList()),
    withSection('docs/api.md', 'scopes', `Scopes:\n\n${scopeList()}\n\nBundles:\n\n${bundleList()}`),
  ];
}

/** By path first, so that the calls of one thing stand together. */
function callList(): string {
  // The handlers are only counted and never asked, so nothing of what their answers need is used.
  const simulated = simulatedCalls({} as never);
  const rows = Object.entries(allCalls).map(([id, { method, path, scope, isClosed }]) => {
    const marks = [
      ...(id in calls ? ['schema'] : []),
      ...(id in simulated ? [] : ['not simulated']),
      ...(isClosed ? ['closed'] : []),
    ];
    const line = `- \`${method} ${path}\`: ${[`\`${id}\``, `\`${scope}\``, ...marks].join(', ')}`;
    return [`${path} ${method}`, line] as const;
  });
  return rows
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, line]) => line)
    .join('\n');
}

function scopeList(): string {
  const rows = SCOPES.map((scope) => {
    const mark = SCOPES_BY_NAME.has(scope) ? '\\*' : '';
    return `- \`${scope}\`${mark}: ${SCOPE_MEANINGS[scope]}`;
  });
  return rows.join('\n');
}

function bundleList(): string {
  const rows = Object.entries(SCOPE_BUNDLES).map(
    ([name, { meaning, scopes }]) => `- \`${name}\` (${scopes.length} scopes): ${meaning}`,
  );
  return rows.join('\n');
}

/** llms.txt lists the pages for programs that read documentation (https://llmstxt.org), in the order of docs/README.md. */
export function llmsText(): GeneratedFile {
  const [, about = ''] = readFileSync('README.md', 'utf8').split('\n\n');
  const lines = readFileSync('docs/README.md', 'utf8').split('\n');
  const listed = lines.flatMap((line) => {
    const [, heading] = /^\*\*(.+)\*\*$/.exec(line) ?? [];
    if (heading !== undefined) return ['', `## ${heading}`, ''];
    const links = [...line.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g)];
    return links.map(([, link = '']) => {
      const path = normalize(join('docs', link));
      return `- [${titleOf(path)}](${path}): ${firstSentenceOf(path)}`;
    });
  });
  const text = ['# Operations Bridge', '', `> ${oneLine(about)}`, ...listed, ''].join('\n');
  return { path: 'llms.txt', text };
}

function titleOf(path: string): string {
  return /^# (.*)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? path;
}

function firstSentenceOf(path: string): string {
  const paragraphs = readFileSync(path, 'utf8').split('\n\n');
  const prose = paragraphs.find((paragraph) => /^(?:[A-Z`](?!``)|1\. )/.test(paragraph)) ?? '';
  const plain = oneLine(prose)
    .replace(/^1\. /, '')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The page says once what these options mean. */
const COMMON = ['--url', '--token-stdin', '--json'];

/** Nothing runs: the program is only asked for its subcommands. */
export function cliDocs(): readonly GeneratedFile[] {
  const program = createProgram({
    environment: {},
    signal: new AbortController().signal,
    clock: { now: () => 0, sleep: async () => {} },
    print: () => {},
    note: () => {},
    isColoured: false,
    readInput: async () => '',
    exitWith: () => {},
  });
  const shown = new Set<string>();
  const sections = program.commands.flatMap((command) =>
    command.commands.length === 0
      ? [sectionOf(command, shown)]
      : command.commands.map((part) => sectionOf(part, shown)),
  );
  return [withSection('docs/cli.md', 'subcommands', sections.join('\n\n'))];
}

/** A subcommand of a subcommand has both names, as `tokens create`. An option that its sisters have, too, is explained once. */
function sectionOf(command: Command, shown: Set<string>): string {
  const { parent } = command;
  const family = parent?.parent ? `${parent.name()} ` : '';
  const options = command.options.filter(({ long, hidden }) => !hidden && !COMMON.includes(long ?? ''));
  const isShown = (option: Option) => family !== '' && shown.has(family + lineOf(option));
  const repeated = options.filter(isShown).map(({ flags }) => `\`${flags}\``);
  const lines = options.filter((option) => !isShown(option)).map(lineOf);
  for (const line of lines) shown.add(family + line);
  if (repeated.length > 0) lines.push(`- as above: ${repeated.join(', ')}`);
  const args = argumentsOf(command);
  const usage = args === '' ? '' : `\`${args}\`: `;
  return [`### ${family}${command.name()}`, `${usage}${command.summary()}`, lines.join('\n')]
    .filter((part) => part !== '')
    .join('\n\n');
}

function argumentsOf(command: Command): string {
  return command.registeredArguments.map((argument) => `<${argument.name()}>`).join(' ');
}

function lineOf({ flags, description, defaultValue }: Option): string {
  const preset = defaultValue === undefined || `${defaultValue}` === '' ? '' : ` (default: ${defaultValue})`;
  return `- \`${flags}\`: ${description}${preset}`;
}

const PAGE = 'docs/deploy/subscribe.md';

export function subscriptionDocs(): readonly GeneratedFile[] {
  return [withSections(PAGE, { subjects: subjectTable(), targets: targetTable() })];
}

function subjectTable(): string {
  const rows = SUBJECT_NAMES.map((name) => {
    const { flag, meaning, detailTypes } = subjectOf(name);
    const types = detailTypes.length === 0 ? 'all' : detailTypes.join(', ');
    return `| \`--${flag}\` | ${meaning} | ${types} |`;
  });
  return ['| option | what the subscriber gets | detail types |', '|---|---|---|', ...rows].join('\n');
}

/** What permits the rule to deliver there, as the files have it. */
const PERMISSIONS: Readonly<Record<keyof typeof TARGET_KINDS, string>> = {
  sqs: 'the policy of the queue allows `sqs:SendMessage` for `events.amazonaws.com`, from this rule only',
  lambda:
    'a permission of the function allows `lambda:InvokeFunction` for `events.amazonaws.com`, from this rule only',
  eventbus:
    'a role that rules of this account use may `events:PutEvents` there; a bus of another account must allow this account, too',
  https:
    'a role that rules of this account use may `events:InvokeApiDestination`; the key comes from Secrets Manager or the environment',
  email:
    'the policy of the topic allows `sns:Publish` for `events.amazonaws.com`, from this rule only; the first mail has a link to confirm',
};

function targetTable(): string {
  const rows = Object.entries(TARGET_KINDS).map(
    ([kind, meaning]) => `| \`${kind}\` | ${meaning} | ${PERMISSIONS[kind as keyof typeof TARGET_KINDS]} |`,
  );
  return ['| `--to` | target | permission |', '|---|---|---|', ...rows].join('\n');
}

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
