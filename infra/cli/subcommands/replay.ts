/** `operations-bridge replay` publishes past events again that a person has chosen. */

import * as z from 'zod';
import type { EventChoice } from '../../../shared/records/event-choice.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { EXIT_CODES, UsageError } from '../../process/command.ts';
import type { BridgeClient } from '../bridge-client.ts';
import { type FollowDeps, followWork } from '../bridge-client.ts';
import {
  type Chosen,
  checkProjects,
  type FilterValues,
  filterRows,
  readFilters,
  readTimes,
  TIME_ROWS,
} from '../filters.ts';
import { type Asked, asking } from './subcommand.ts';

const FILTERS = ['project', 'type', 'status', 'action', 'id'] as const;

interface ReplayValues extends FilterValues<(typeof FILTERS)[number]> {
  readonly since?: string;
  readonly until?: string;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly progress?: true;
  readonly stop?: true;
}

export const replaySubcommand = asking<ReplayValues>({
  usage: 'replay',
  summary: 'Publishes past events again, with the same ids.',
  description:
    'The poller of the bridge sends the chosen events of the account to the bus, at most 50 a second; every subscriber gets them. ' +
    'The details are byte-equal, and the envelope names the replay in "resources", so alerts and rules that ask for it leave the copies out. It needs a token with operations:read and events:replay. ' +
    'First it says what will be sent, and asks. Ctrl-C ends the command and not the replay.',
  examples: [
    'operations-bridge replay --since 2h --dry-run',
    'operations-bridge replay --since 7d --type "Operation State Changed" --status failed --project icy-hat-70322459 --yes',
    'operations-bridge replay --since 1d --id 2b8ea8c5-1c5f-4b0e-9a4b-4d6b8d0a4b0e',
    'operations-bridge replay --stop',
  ],
  exitCodes: {
    succeeded: 'all events were sent, or only shown',
    failed: 'the replay was stopped, or the bus refused events',
  },
  options: [
    ...TIME_ROWS,
    ...filterRows('events', FILTERS),
    ['--dry-run', 'says what would be sent, and sends nothing'],
    ['--yes', 'does not ask'],
    ['--progress', 'shows how far the latest replay has come'],
    ['--stop', 'stops the replay that is in progress'],
    ['--json', 'prints the result as JSON'],
  ],
  act: runReplay,
});

async function runReplay(asked: Asked<ReplayValues>): Promise<void> {
  const { clock, signal, note, confirm, values } = asked;
  const client = await asked.connect();
  const ask = (method: string, body?: object) =>
    client.read({ method, path: REPLAY_PATH, ...(body && { body: JSON.stringify(body) }) }, replayStanding);
  if (values.progress || values.stop) return show(await ask(values.stop ? 'DELETE' : 'GET'), asked);
  const chosen = readFilters(values, FILTERS, note);
  const choice = choiceOf(values, chosen, clock.now());
  if (!values.dryRun && !values.yes && confirm === undefined)
    throw new UsageError('Nothing was sent. Add --yes to send it, or --dry-run to see it only.');
  await checkProjects(client, chosen, note);
  let count: number | undefined;
  if (!values.yes || values.dryRun) {
    await ask('POST', { ...choice, is_dry_run: true });
    const found = await followReplay({ clock, signal, note }, client);
    if (values.dryRun || found.state !== 'ended') return end(found, asked);
    count = found.sent_count;
    note(
      `${counted(count, 'event')} from ${choice.since} to ${choice.until} ${count === 1 ? 'is' : 'are'} chosen.`,
    );
    if (count === 0 || !(await confirm?.('Send them to every subscriber again?')))
      return note('Nothing was sent.');
  }
  const { resource } = await ask('POST', choice);
  note(`The events have "${resource}" in their resources.`);
  end(await followReplay({ clock, signal, note }, client, count), asked);
}

function end(replay: ReplayStanding, asked: Asked<unknown>): void {
  show(replay, asked);
  if (replay.state !== 'ended' || replay.refused_count > 0) asked.exitWith(EXIT_CODES.failed);
}

function show(replay: ReplayStanding, asked: Asked<unknown>): void {
  const { state, since, until, of_parked, is_dry_run, sent_count, repeated_count, refused_count } = replay;
  const refused = refused_count === 0 ? '' : ` The bus refused ${refused_count}.`;
  const stand = { in_progress: 'is in progress', ended: 'has ended', stopped: 'was stopped' }[state];
  const subject = of_parked ? 'The redrive of parked events' : `The replay from ${since} to ${until}`;
  const sent = is_dry_run ? 'would be sent' : sent_count === 1 ? 'is sent' : 'are sent';
  const again =
    repeated_count === 0
      ? ''
      : ` ${repeated_count} were sent once more, with the same ids, because they had changed meanwhile.`;
  asked.show(replay, `${subject} ${stand}: ${counted(sent_count, 'event')} ${sent}.${again}${refused}`);
}

function choiceOf(values: ReplayValues, chosen: Chosen, nowMs: number): EventChoice {
  const { since, until = new Date(nowMs).toISOString() } = readTimes(values, nowMs);
  if (since === undefined)
    throw new UsageError(
      '--since is missing; it takes a time such as 2026-01-16T21:00:00Z, or a duration such as 2h.',
    );
  if (since >= until)
    throw new UsageError(`--since is ${since} and --until is ${until}; --until must be later.`);
  const { project_id: project_ids, action: actions, detail_type: detail_types, status, id } = chosen;
  return { since, until, project_ids, actions, detail_types, statuses: status, ids: id };
}

export const replayStanding = z.looseObject({
  state: z.enum(['in_progress', 'ended', 'stopped']),
  since: z.string(),
  until: z.string(),
  of_parked: z.boolean().optional(),
  is_dry_run: z.boolean().optional(),
  resource: z.string().optional(),
  read_count: z.number().default(0),
  sent_count: z.number(),
  repeated_count: z.number().default(0),
  refused_count: z.number(),
});

type ReplayStanding = z.output<typeof replayStanding>;

const REPLAY_PATH = '/bridge/v1/replay';

/** Resolves to the replay at its end. `eventCount` is how many events it has, if that is known. */
export async function followReplay(
  deps: FollowDeps,
  client: BridgeClient,
  eventCount?: number,
): Promise<ReplayStanding> {
  const of = eventCount === undefined ? '' : ` of about ${eventCount}`;
  const read = () => client.read({ method: 'GET', path: REPLAY_PATH }, replayStanding);
  try {
    return await followWork(deps, {
      noun: 'replay',
      name: 'The replay',
      read,
      progressOf: ({ sent_count, read_count, is_dry_run }) =>
        `${sent_count}${of} ${sent_count === 1 ? 'event is' : 'events are'} ${is_dry_run ? 'counted' : 'sent'}, and ${read_count} items of the table are read.`,
    });
  } catch (error) {
    if (deps.signal.aborted) deps.note(GOES_ON);
    throw error;
  }
}

const GOES_ON =
  'The replay goes on: "operations-bridge replay --progress" shows it, and "operations-bridge replay --stop" stops it.';
