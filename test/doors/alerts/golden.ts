/** Writes what a script did as a text that a person reads: the story, and then what each channel was sent, and when. */

import { CHANNELS, type ChannelName, type Send } from './channels.ts';
import type { Script } from './script.ts';
import { textsOf } from './slack-stand-in.ts';
import { START_MS, type World } from './world.ts';

/** One thing that a channel was sent. Requests that say the same at the same time stand in one line. */
interface Line {
  readonly atMs: number;
  readonly head: string;
  readonly body: readonly string[];
}

const TITLES: Record<ChannelName, string> = {
  slack: 'Slack',
  email: 'E-mail',
  pagerduty: 'PagerDuty',
  webhook: 'Webhook',
};

/** Both runs had the same story, one with a bot on Slack and one with an incoming webhook. */
export function goldenOf(script: Script, [byBot, byWebhook]: readonly [World, World]): string {
  const set = script.channels ?? CHANNELS;
  const others = set.filter((name) => name !== 'slack');
  const slack = set.includes('slack')
    ? [
        section('Slack, by a bot', linesOf(script, byBot, 'slack')),
        section('Slack, by an incoming webhook', linesOf(script, byWebhook, 'slack')),
      ]
    : [];
  return `${[
    [script.says, ...policyOf(script)].join('\n'),
    storyOf(script),
    ...slack,
    ...others.map((name) => section(TITLES[name], linesOf(script, byBot, name))),
    endOf(script, byBot),
  ].join('\n\n')}\n`;
}

/** Returns what every channel but Slack was sent, to compare the two runs. */
export function othersOf(script: Script, world: World): string {
  const others = CHANNELS.filter((name) => name !== 'slack');
  return others.map((name) => section(TITLES[name], linesOf(script, world, name))).join('\n\n');
}

function policyOf({ policy }: Script): readonly string[] {
  return policy === undefined ? [] : [`Policy: ${JSON.stringify(policy)}`];
}

function storyOf({ steps, until }: Script): string {
  const told = steps.map(({ atMs, words }) => ({ atMs: START_MS + atMs, head: words, body: [] }));
  return ['Story', ...shortened(folded(told)), `  until ${until} after the beginning`].join('\n');
}

/** Fewer lines than this are all shown. */
const RUN_MIN = 6;

/**
 * A run of lines that differ only in their numbers and times is shown by its first and its last. That nothing is missing
 * in between is checked without the golden file.
 */
function shortened(told: readonly Folded[]): readonly string[] {
  const runs: Folded[][] = [];
  const patternOf = (one: Folded) => `${one.head.replaceAll(/\d+/g, '#')} ${one.body.length}`;
  for (const one of told) {
    const last = runs.at(-1);
    if (last?.[0] !== undefined && patternOf(last[0]) === patternOf(one)) last.push(one);
    else runs.push([one]);
  }
  return runs.flatMap((run) => {
    const [first, last] = [run[0], run.at(-1)];
    if (run.length < RUN_MIN || first === undefined || last === undefined) return run.flatMap(textOf);
    return [...textOf(first), `            and ${run.length - 2} more in between, until`, ...textOf(last)];
  });
}

function section(title: string, lines: readonly Line[]): string {
  const shown = lines.length === 0 ? ['  nothing'] : shortened(folded(lines));
  return [title, ...shown].join('\n');
}

interface Folded extends Line {
  readonly times: readonly number[];
}

/** Lines that repeat the one before are one line, so that a channel that is down for an hour takes one line. */
function folded(lines: readonly Line[]): readonly Folded[] {
  const all: Folded[] = [];
  for (const line of lines) {
    const last = all.at(-1);
    if (last !== undefined && last.head === line.head && last.body.join('\n') === line.body.join('\n'))
      all[all.length - 1] = { ...last, times: [...last.times, line.atMs] };
    else all.push({ ...line, times: [line.atMs] });
  }
  return all;
}

/** Repetitions of a line are listed with their times up to this many. */
const TIMES_MAX = 6;

function textOf({ atMs, times, head, body }: Folded): readonly string[] {
  const others = [...new Set(times.slice(1))].filter((time) => time !== atMs);
  const shown =
    others.length < TIMES_MAX
      ? others.map((time) => ` and ${clockOf(time)}`).join('')
      : `, the last at ${clockOf(times.at(-1) ?? atMs)}`;
  const again = times.length === 1 ? '' : ` (${times.length} times${shown})`;
  return [
    `  ${clockOf(atMs)}  ${head}${again}`,
    ...body.map((line) => (line === '' ? '' : `            ${line}`)),
  ];
}

/** Returns the time of the day in UTC, with the number of days that have passed. */
function clockOf(atMs: number): string {
  const days = Math.floor(atMs / 86_400_000) - Math.floor(START_MS / 86_400_000);
  const time = new Date(atMs).toISOString().slice(11, 19);
  return days === 0 ? time : `${time} +${days}d`;
}

function linesOf({ isWhole = false }: Script, { channels }: World, name: ChannelName): readonly Line[] {
  return channels.sends
    .filter(({ channel }) => channel === name)
    .reduce<readonly Send[][]>(inGroups, [])
    .map(([send, ...further]) => {
      if (send === undefined) throw new Error('A group has a request');
      const { head, body } = shownOf(send);
      const trouble =
        send.trouble === undefined ? '' : ` [${send.isTaken ? '' : 'not taken: '}${send.trouble}]`;
      const whole = isWhole && send.isTaken ? body : [];
      const changes = further.map((one) => `; ${shownOf(one).head}`).join('');
      return { atMs: send.atMs, head: `${head}${trouble}${changes}`, body: whole.map(normal) };
    });
}

/** What PagerDuty is told of one incident at a time stands in one line. */
function inGroups(groups: readonly Send[][], send: Send): readonly Send[][] {
  const first = groups.at(-1)?.[0];
  const isChange = send.pager !== undefined && send.pager.event_action !== 'trigger' && send.isTaken;
  if (!isChange || first?.atMs !== send.atMs || !first.isTaken || incidentOf(first) !== incidentOf(send))
    return [...groups, [send]];
  groups.at(-1)?.push(send);
  return groups;
}

function incidentOf({ pager }: Send): string {
  return String(pager?.dedup_key).split('|').slice(1, 4).join('|');
}

interface Shown {
  readonly head: string;
  readonly body: readonly string[];
}

function shownOf(send: Send): Shown {
  const { slack, mail, pager, webhook } = send;
  if (slack !== undefined) return slackOf(slack);
  if (mail !== undefined) return { head: `mail: ${mail.subject}`, body: mail.body.trimEnd().split('\n') };
  if (pager !== undefined) return pagerOf(pager);
  if (webhook !== undefined) return webhookOf(webhook);
  throw new Error('A request is to one of the channels');
}

const SEVERITIES: Readonly<Record<string, string>> = {
  '#b3261e': 'critical',
  '#d98c00': 'warning',
  '#2e7d32': 'good',
};

const CALLS = {
  post: ({ number }: { readonly number?: number }) => `post ${numbered(number)} (rings)`,
  broadcast: ({ number }: { readonly number?: number }) => `broadcast in ${numbered(number)} (rings)`,
  reply: ({ number }: { readonly number?: number }) => `reply in ${numbered(number)}`,
  edit: ({ number }: { readonly number?: number }) => `edit ${numbered(number)}`,
};

function numbered(number: number | undefined): string {
  return number === undefined ? '' : `#${number}`;
}

function slackOf({
  call,
  body: { text = '', attachments = [] },
  ...done
}: NonNullable<Send['slack']>): Shown {
  const [attachment] = attachments;
  const severity = SEVERITIES[attachment?.color ?? ''] ?? 'plain';
  const what = done.fault === undefined && done.number !== undefined ? CALLS[call](done) : call;
  const blocks = attachment?.blocks ?? [];
  return {
    head: `${what} ${severity}: ${normal(text)}`,
    body: blocks.flatMap((block) => {
      const texts = textsOf(block);
      if (block.type === 'actions') return [texts.map((one) => `[${one}]`).join(' ')];
      if (block.fields !== undefined) return [texts.map((one) => one.replace('\n', ' ')).join(' | ')];
      return texts.flatMap((one) => one.split('\n'));
    }),
  };
}

function pagerOf({ event_action, dedup_key, payload, isOpen }: NonNullable<Send['pager']>): Shown {
  const key = String(dedup_key).replace('bridge.example.com|', '');
  if (event_action !== 'trigger')
    return { head: `${String(event_action)} ${key}${isOpen ? '' : ' (not open)'}`, body: [] };
  const details = Object.entries(payload?.custom_details ?? {}).flatMap(([label, value]) =>
    Array.isArray(value) ? value.map((one) => `${label}: ${String(one)}`) : [`${label}: ${String(value)}`],
  );
  const verb = isOpen ? 'trigger again' : 'trigger (rings)';
  return {
    head: `${verb} ${String(payload?.severity)} ${key}: ${String(payload?.summary)}`,
    body: details,
  };
}

/** These fields of an alert say nothing that its words do not say. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  'id',
  'kind',
  'severity',
  'title',
  'meaning',
  'url',
  'account_id',
]);

function webhookOf({ data, isCopy }: NonNullable<Send['webhook']>): Shown {
  const alerts = data.alerts.map((alert) => {
    const fields = Object.entries(alert).filter(([name]) => !NOT_SHOWN.has(name));
    const said = fields.map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return `${String(alert['severity'])} ${String(alert['kind'])} ${String(alert['id'])}: ${said.join(' ')}`;
  });
  return { head: `${isCopy ? 'copy, ' : ''}${data.severity}: ${data.summary}`, body: alerts };
}

/** Slack's dates are shown as Slack shows them in UTC, and addresses without what all of them begin with. */
function normal(text: string): string {
  return text
    .replaceAll(/<!date\^(\d+)\^[^|]*\|([^>]*) UTC>/g, (_all, seconds: string, shown: string) =>
      new Date(Number(seconds) * 1_000).toISOString().slice(0, 19).replace('T', ' ') === shown
        ? `${shown} UTC`
        : `${shown} UTC, but ${seconds} s`,
    )
    .replaceAll('https://bridge.example.com/console/accounts/', 'CONSOLE/')
    .replaceAll('https://bridge.example.com/runbook', 'RUNBOOK')
    .trimEnd();
}

const COUNTED = ['AlertsSent', 'AlertsFailed', 'AlertsRefused', 'ItemsUnreadable'] as const;

function endOf({ channels: set = CHANNELS }: Script, world: World): string {
  const { measured, logged, queue, deadLetters, channels } = world;
  const counts = COUNTED.map((figure) => {
    const sum = measured.filter((one) => one.figure === figure).reduce((total, one) => total + one.value, 0);
    return `${figure} ${sum}`;
  });
  const deaf = measured.filter(({ figure }) => figure === 'ChannelDeafMs').map(({ value }) => value);
  const open = channels.pagerDuty.openAlerts().map(({ key, status, severity }) => {
    const name = key.replace('bridge.example.com|', '');
    return `  PagerDuty keeps open: ${name}, ${severity}${status === 'acknowledged' ? ', acknowledged' : ''}`;
  });
  const shown = open.length < RUN_MIN ? open : [`  PagerDuty keeps ${open.length} alerts open`];
  return [
    'At the end',
    ...(set.includes('pagerduty') && open.length === 0 ? ['  PagerDuty keeps nothing open'] : shown),
    `  queue: ${queue.length} waiting, ${deadLetters.length} dead`,
    `  metrics: ${counts.join(', ')}, ChannelDeafMs at most ${Math.round(Math.max(0, ...deaf) / 1_000)} s`,
    `  log: ${logOf(logged)}`,
  ].join('\n');
}

/** Returns how often each event was logged. */
function logOf(logged: readonly string[]): string {
  const lines = logged.map((line) => JSON.parse(line) as { readonly level: string; readonly event: string });
  const counts = [...Map.groupBy(lines, ({ level, event }) => `${level} ${event}`)].map(
    ([name, { length }]) => `${name} ${length}`,
  );
  return counts.length === 0 ? 'nothing' : counts.toSorted().join(', ');
}
