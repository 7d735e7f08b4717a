/** `operations-bridge mutes` shows which alerts wait and why, and has alerts wait for a time. */

import type { Command } from 'commander';
import * as z from 'zod';
import { MUTE_MS_MAX, MUTE_MS_MIN } from '../../../shared/alerts/mutes/mute.ts';
import { parseDuration, UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { createSubcommand } from './subcommand.ts';

interface ListValues extends ConnectionValues {
  readonly json?: true;
}

interface AddValues extends ListValues {
  readonly project?: string;
  readonly action?: string;
  readonly incident?: string;
  readonly for: string;
  readonly reason: string;
}

const PATH = '/bridge/v1/mutes';

const mute = z.looseObject({
  mute_id: z.string(),
  project_id: z.string().optional(),
  action: z.string().optional(),
  incident_id: z.string().optional(),
  reason: z.string(),
  client_id: z.string(),
  until: z.string(),
  configured: z.literal(true).optional(),
  project_ids: z.array(z.string()).optional(),
});

type Mute = z.output<typeof mute>;

export function mutesSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'mutes',
    summary: 'Has alerts wait for a time, and shows which ones wait, until when and why.',
    examples: [
      'operations-bridge mutes add --project icy-hat-70322459 --for 2h --reason "a migration"',
      'operations-bridge mutes list',
    ],
  });
  return command
    .addCommand(list(surroundings))
    .addCommand(add(surroundings))
    .addCommand(remove(surroundings));
}

function list(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'list',
    summary: 'Shows the mutes that have not ended; the one that ends first comes first.',
    examples: ['operations-bridge mutes list --json'],
  });
  return declared(command).action(async (values: ListValues) => {
    const client = await clientFor(values, surroundings);
    const { mutes } = await client.read({ method: 'GET', path: PATH }, z.object({ mutes: z.array(mute) }));
    if (mutes.length === 0 && !values.json) surroundings.print('Nothing is muted.');
    for (const each of mutes) surroundings.print(values.json ? JSON.stringify(each) : lineOf(each));
  });
}

function add(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'add',
    summary: 'Has alerts wait: all of the account, or those that fit all the options.',
    description:
      'It needs a token with alerts:mute. When the mute ends, what still fails is reported, and what has recovered is only counted.',
    examples: [
      'operations-bridge mutes add --project icy-hat-70322459 --for 2h --reason "a migration"',
      'operations-bridge mutes add --action create_branch --for 30m --reason "known, see INC-7"',
    ],
  });
  return declared(command)
    .option('--project <id>', 'only alerts about this project')
    .option('--action <action>', 'only alerts about this action, such as start_compute')
    .option('--incident <id>', 'only alerts of this incident')
    .requiredOption('--for <duration>', 'how long, from 1m to 720h')
    .requiredOption('--reason <text>', 'why; people see it beside the mute')
    .action(async (values: AddValues) => {
      const { project: project_id, action, incident: incident_id, reason } = values;
      const duration_seconds = muteSecondsOf(values.for);
      const body = JSON.stringify({ project_id, action, incident_id, duration_seconds, reason });
      const client = await clientFor(values, surroundings);
      const added = await client.read({ method: 'POST', path: PATH, body }, mute);
      surroundings.print(values.json ? JSON.stringify(added) : lineOf(added));
    });
}

/** Throws `UsageError` for what is no duration, and for one that no mute can have. */
function muteSecondsOf(text: string): number {
  const durationMs = parseDuration('for', text);
  if (durationMs >= MUTE_MS_MIN && durationMs <= MUTE_MS_MAX) return durationMs / 1_000;
  throw new UsageError(`--for is "${text}"; a mute lasts from 1m to 720h.`);
}

function remove(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'remove <id>',
    summary: 'Ends a mute now; what still fails is reported within a minute.',
    description: 'It needs a token with alerts:mute.',
    examples: ['operations-bridge mutes remove 2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10'],
  });
  return declared(command).action(async (id: string, values: ListValues) => {
    if (!/^[\w-]{1,100}$/.test(id))
      throw new UsageError(`"${id}" is no id of a mute; "operations-bridge mutes list" shows them.`);
    const client = await clientFor(values, surroundings);
    const lifted = await client.read({ method: 'DELETE', path: `${PATH}/${id}` }, mute);
    surroundings.print(values.json ? JSON.stringify(lifted) : `The mute ${id} has ended.`);
  });
}

function declared(command: Command): Command {
  return declareConnectionOptions(command).option('--json', 'prints each mute as a line of JSON');
}

async function clientFor(values: ListValues, surroundings: Surroundings): Promise<BridgeClient> {
  return createBridgeClient(await connectionFinder(values, surroundings), surroundings);
}

/** Returns a line such as `<id>  until 2026-01-15T13:00:00.000Z  start_compute in icy-hat  by ci: a migration`. */
function lineOf({ mute_id, until, client_id, reason, ...scope }: Mute): string {
  if (scope.configured) return `${mute_id}  until ${until}  ${configuredWords(scope)}  by the configuration`;
  return `${mute_id}  until ${until}  ${scopeWords(scope)}  by ${client_id}: ${reason}`;
}

function configuredWords({ project_ids }: Pick<Mute, 'project_ids'>): string {
  return project_ids === undefined ? 'all accounts' : `all in ${project_ids.join(', ')}`;
}

function scopeWords({
  project_id,
  action,
  incident_id,
}: Pick<Mute, 'project_id' | 'action' | 'incident_id'>): string {
  const place =
    project_id === undefined ? (action ?? 'the whole account') : `${action ?? 'all'} in ${project_id}`;
  return incident_id === undefined ? place : `incident ${incident_id} (${place})`;
}
