/** `operations-bridge incidents` shows what fails, and says that a person takes care of it. */

import type { Command } from 'commander';
import * as z from 'zod';
import { parseInteger, UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { createSubcommand } from './subcommand.ts';

interface CommonValues extends ConnectionValues {
  readonly json?: true;
}

interface ListValues extends CommonValues {
  readonly ended?: true;
  readonly project?: string;
  readonly action?: string;
  readonly limit: string;
}

interface AcknowledgeValues extends CommonValues {
  readonly reason?: string;
}

const PATH = '/bridge/v1/incidents';

const incident = z.looseObject({
  incident_id: z.string(),
  project_id: z.string().optional(),
  action: z.string().optional(),
  state: z.string(),
  began_at: z.string(),
  failing_operation_count: z.number(),
  acknowledged: z.looseObject({ client_id: z.string(), at: z.string() }).optional(),
});

const page = z.looseObject({ incidents: z.array(incident), cursor: z.string().optional() });

type Incident = z.output<typeof incident>;

export function incidentsSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'incidents',
    summary: 'Shows what fails, and says that a person takes care of it.',
    examples: [
      'operations-bridge incidents list',
      'operations-bridge incidents acknowledge 0123456789abcdef0123456789abcdef --reason "I look at it"',
    ],
  });
  return command
    .addCommand(list(surroundings))
    .addCommand(acknowledge(surroundings))
    .addCommand(withdraw(surroundings));
}

function list(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'list',
    summary: 'Shows the incidents that have not ended, the newest first.',
    examples: ['operations-bridge incidents list --project icy-hat-70322459 --json'],
  });
  return declared(command)
    .option('--ended', 'those that have ended, instead')
    .option('--project <id>', 'only incidents of this project')
    .option('--action <action>', 'only incidents of this action, such as start_compute')
    .option('--limit <n>', 'number of incidents, up to 1000', '50')
    .action(async (values: ListValues) => {
      await printIncidents(await clientFor(values, surroundings), values, surroundings);
    });
}

/** The largest page of the bridge. */
const PAGE_MAX = 100;

/** A page with filters may be empty; this many of them hold 20,000 incidents. */
const PAGES_MAX = 200;

async function printIncidents(
  client: BridgeClient,
  values: ListValues,
  { print, note }: Surroundings,
): Promise<void> {
  const most = parseInteger('limit', values.limit, { min: 1, max: 1_000 });
  const { project: project_id, action } = values;
  const state = values.ended ? 'ended' : 'open';
  const query = { state, project_id, action, limit: Math.min(most, PAGE_MAX) };
  let count = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX && count < most; pages++) {
    const read = await client.read({ method: 'GET', path: PATH, query: { ...query, cursor } }, page);
    for (const each of read.incidents.slice(0, most - count))
      print(values.json ? JSON.stringify(each) : lineOf(each));
    count += read.incidents.length;
    cursor = read.cursor;
    if (cursor === undefined) break;
  }
  if (count === 0 && !values.json) print(values.ended ? 'No incident has ended.' : 'No incident is open.');
  if (cursor !== undefined) note('There are more incidents; --limit reaches them.');
}

function acknowledge(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'acknowledge <id>',
    summary: 'Says that a person takes care of an incident.',
    description:
      'It needs a token with alerts:mute. Further failures of the incident and its reminders wake no one until it ends or gets worse. An incident that was given up ends.',
    examples: [
      'operations-bridge incidents acknowledge 0123456789abcdef0123456789abcdef --reason "I look at it"',
    ],
  });
  return declared(command)
    .option('--reason <text>', 'what people should know about it')
    .action(async (id: string, values: AcknowledgeValues) => {
      const body = JSON.stringify({ reason: values.reason });
      await change({ method: 'POST', path: acknowledgementPath(id), body }, values, surroundings);
    });
}

function withdraw(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'withdraw <id>',
    summary: 'Withdraws the acknowledgement of an incident that has not ended.',
    description: 'It needs a token with alerts:mute. What fails then wakes people again.',
    examples: ['operations-bridge incidents withdraw 0123456789abcdef0123456789abcdef'],
  });
  return declared(command).action(async (id: string, values: CommonValues) => {
    await change({ method: 'DELETE', path: acknowledgementPath(id) }, values, surroundings);
  });
}

async function change(
  request: Parameters<BridgeClient['read']>[0],
  values: CommonValues,
  surroundings: Surroundings,
): Promise<void> {
  const client = await clientFor(values, surroundings);
  const changed = await client.read(request, incident);
  surroundings.print(values.json ? JSON.stringify(changed) : lineOf(changed));
}

function acknowledgementPath(id: string): string {
  if (!/^[0-9a-f]{32}$/.test(id))
    throw new UsageError(`"${id}" is no id of an incident; "operations-bridge incidents list" shows them.`);
  return `${PATH}/${id}/acknowledgement`;
}

function declared(command: Command): Command {
  return declareConnectionOptions(command).option('--json', 'prints each incident as a line of JSON');
}

async function clientFor(values: CommonValues, surroundings: Surroundings): Promise<BridgeClient> {
  return createBridgeClient(await connectionFinder(values, surroundings), surroundings);
}

/** Returns a line such as `<id>  since 2026-01-15T12:58:00.000Z  failing  start_compute in icy-hat, 2 operations  acknowledged by ci`. */
function lineOf({ incident_id, state, began_at, acknowledged, ...shown }: Incident): string {
  const { project_id, action, failing_operation_count: count } = shown;
  const place =
    project_id === undefined ? 'the account' : `${action ?? 'an unknown action'} in ${project_id}`;
  const operations = project_id === undefined || count === 0 ? '' : `, ${operationsOf(count)}`;
  const words = state.replaceAll('_', ' ');
  const line = `${incident_id}  since ${began_at}  ${words}  ${place}${operations}`;
  return acknowledged === undefined ? line : `${line}  acknowledged by ${acknowledged.client_id}`;
}

function operationsOf(count: number): string {
  return count === 1 ? '1 operation' : `${count} operations`;
}
