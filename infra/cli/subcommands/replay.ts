/** `operations-bridge replay` publishes past events again: from the table to the bus, or from the archive to one rule. */

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { EXIT_CODES } from '../../process/exit-codes.ts';
import { UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { parseTime } from '../listening/since.ts';
import {
  followReplay,
  type ReplayStanding,
  readReplay,
  startReplay,
  stopReplay,
} from '../replaying/follow-replay.ts';
import { previewReplay, type ReplayRange } from '../replaying/preview-replay.ts';
import { createSubcommand } from './subcommand.ts';

interface ReplayValues extends ConnectionValues {
  readonly since?: string;
  readonly until?: string;
  readonly project?: string;
  readonly rule?: string;
  readonly archive?: string;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly status?: true;
  readonly stop?: true;
  readonly json?: true;
}

export function replaySubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'replay',
    summary: 'Publishes past events again, with the same ids.',
    description:
      'Without --rule, the poller of the bridge sends what the table has to the bus, at most 50 events a second; every subscriber gets it. ' +
      'The details are byte-equal, and the envelope names the replay in "resources", so alerts and rules that ask for it leave the copies out. It needs a token with operations:read and events:replay. ' +
      'With --rule, EventBridge sends what its archive has to that rule alone, with the AWS credentials of the environment (events:StartReplay, events:DescribeReplay). ' +
      'First it says what will be sent, and asks. Ctrl-C ends the command and not the replay.',
    examples: [
      'operations-bridge replay --since 2h --dry-run',
      'operations-bridge replay --since 2026-01-16T21:00:00Z --until 2026-01-16T22:00:00Z --project icy-hat-70322459 --yes',
      'operations-bridge replay --since 1d --rule arn:aws:events:eu-central-1:123456789012:rule/operations-bridge/orders',
      'operations-bridge replay --stop',
    ],
    exitCodes: {
      succeeded: 'all events were sent, or only shown',
      failed: 'the replay was stopped or failed, or the bus refused events',
    },
  });
  return declareConnectionOptions(command)
    .option('--since <time>', 'events from this time on: a time (ISO 8601), or how long ago, such as 2h')
    .option('--until <time>', 'events before this time', '0s')
    .option('--project <id>', 'only events of this project')
    .option('--rule <arn>', 'from the archive, to this rule of the bus only')
    .option('--archive <name>', 'with --rule: the name of the archive (default: that of the bus)')
    .option('--dry-run', 'says what would be sent, and sends nothing')
    .option('--yes', 'does not ask')
    .option('--status', 'shows how far the latest replay from the table has come')
    .option('--stop', 'stops the replay from the table that is in progress')
    .option('--json', 'prints the result as JSON')
    .action((values: ReplayValues) => runReplay(values, surroundings));
}

async function runReplay(values: ReplayValues, surroundings: Surroundings): Promise<void> {
  if (values.rule !== undefined) return replayFromArchive(values, values.rule, surroundings);
  const client = createBridgeClient(await connectionFinder(values, surroundings), surroundings);
  if (values.status) return show(await readReplay(client), values, surroundings);
  if (values.stop) return show(await stopReplay(client), values, surroundings);
  return replayFromTable(client, values, surroundings);
}

async function replayFromTable(
  client: BridgeClient,
  values: ReplayValues,
  surroundings: Surroundings,
): Promise<void> {
  const { clock, signal, print, note, exitWith } = surroundings;
  const range = rangeOf(values, clock.now());
  const preview = await previewReplay(client, range, (count) => note(`${count} events so far`));
  const { event_count, detail_types } = preview;
  note(`${event_count} events from ${range.since} to ${range.until} will be sent to the bus again:`);
  for (const [type, count] of Object.entries(detail_types)) note(`${String(count).padStart(8)}  ${type}`);
  if (values.dryRun || event_count === 0) {
    if (values.json) print(JSON.stringify({ ...range, ...preview }));
    return;
  }
  if (!(await isConfirmed(values, surroundings))) return;
  const started = await startReplay(client, range);
  note(`The events have "${started.resource}" in their resources.`);
  const ended = await goesOnAfterCtrlC(
    surroundings,
    '"operations-bridge replay --status" shows it, and "operations-bridge replay --stop" stops it',
    () => followReplay({ client, clock, signal, note }, event_count),
  );
  show(ended, values, surroundings);
  if (ended.state !== 'ended' || ended.refused_count > 0) exitWith(EXIT_CODES.failed);
}

function show(replay: ReplayStanding, { json }: ReplayValues, { print }: Surroundings): void {
  const { state, since, until, of_parked, sent_count, refused_count } = replay;
  const refused = refused_count === 0 ? '' : ` The bus refused ${refused_count}.`;
  const stand = { in_progress: 'is in progress', ended: 'has ended', stopped: 'was stopped' }[state];
  const subject = of_parked ? 'The redrive of parked events' : `The replay from ${since} to ${until}`;
  const sentence = `${subject} ${stand}: ${sent_count} events are sent.${refused}`;
  print(json ? JSON.stringify(replay) : sentence);
}

async function replayFromArchive(
  values: ReplayValues,
  ruleArn: string,
  surroundings: Surroundings,
): Promise<void> {
  const { clock, signal, print, note, exitWith } = surroundings;
  if (values.project !== undefined)
    throw new UsageError(
      '--project goes with a replay from the table; an archive is replayed by time alone.',
    );
  const range = rangeOf(values, clock.now());
  const { archiveReplayOf, followArchiveReplay, startArchiveReplay } = await import(
    '../replaying/archive-replay.ts'
  );
  const { EventBridgeClient } = await import('@aws-sdk/client-eventbridge');
  const name = `operations-bridge-${randomBytes(6).toString('hex')}`;
  const wanted = archiveReplayOf(ruleArn, values.archive, name);
  note(
    `All events in ${wanted.archiveArn} from ${range.since} to ${range.until} will be sent to ${ruleArn}.`,
  );
  if (values.dryRun || !(await isConfirmed(values, surroundings))) return;
  const client = new EventBridgeClient({ region: wanted.region });
  try {
    await startArchiveReplay(client, wanted, range, signal);
    const outcome = await goesOnAfterCtrlC(
      surroundings,
      `"aws events describe-replay --replay-name ${name}" shows it, and cancel-replay stops it`,
      () => followArchiveReplay(client, wanted, { clock, signal, note }),
    );
    const reason = outcome.reason === undefined ? '' : ` ${outcome.reason}`;
    print(
      values.json
        ? JSON.stringify({ name, ...outcome })
        : `The replay is ${outcome.state.toLowerCase()}.${reason}`,
    );
    if (outcome.state !== 'COMPLETED') exitWith(EXIT_CODES.failed);
  } finally {
    client.destroy();
  }
}

function rangeOf({ since, until, project }: ReplayValues, nowMs: number): ReplayRange {
  if (since === undefined)
    throw new UsageError(
      '--since is missing; it takes a time such as 2026-01-16T21:00:00Z, or a duration such as 2h.',
    );
  const range = { since: parseTime('since', since, nowMs), until: parseTime('until', until ?? '0s', nowMs) };
  if (range.since >= range.until)
    throw new UsageError(`--since is ${range.since} and --until is ${range.until}; --until must be later.`);
  return { ...range, ...(project !== undefined && { project_id: project }) };
}

/** Without a terminal nobody can be asked, so nothing is sent without `--yes`. */
async function isConfirmed({ yes }: ReplayValues, { confirm, note }: Surroundings): Promise<boolean> {
  if (yes) return true;
  if (confirm === undefined)
    throw new UsageError('Nothing was sent. Add --yes to send it, or --dry-run to see it only.');
  if (await confirm('Send them?')) return true;
  note('Nothing was sent.');
  return false;
}

async function goesOnAfterCtrlC<T>(
  { signal, note }: Surroundings,
  advice: string,
  follow: () => Promise<T>,
): Promise<T> {
  const say = () => note(`The replay goes on: ${advice}.`);
  if (signal.aborted) say();
  else signal.addEventListener('abort', say, { once: true });
  try {
    return await follow();
  } finally {
    signal.removeEventListener('abort', say);
  }
}
