/** `operations-bridge verify` reads the upstream again and compares it with what the bridge has recorded and published. */

import type { Command } from 'commander';
import { EXIT_CODES } from '../../process/exit-codes.ts';
import { parseInteger } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { BridgeRefusal, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { compareOperations, type Difference } from '../verifying/compare-operations.ts';
import { listProjects, type Reading, readProject } from '../verifying/read-project.ts';
import { createSubcommand } from './subcommand.ts';

interface VerifyValues extends ConnectionValues {
  readonly project?: string;
  readonly days: string;
  readonly requestsPerMinute: string;
  readonly json?: true;
}

/** What was found out about one project. */
interface Verdict {
  readonly project_id: string;
  readonly checked: number;
  readonly differences: readonly Difference[];
  /** Why the project could not be checked. */
  readonly not_checked?: string;
}

export function verifySubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'verify',
    summary: 'Reads the operations of the upstream again, and compares them with the table and the feed.',
    description:
      'It finds operations that are missing or invented, states that differ, and events that are missing from the chain of an operation. ' +
      'It reads through the bridge, needs a token with projects:read and operations:read, and changes nothing. ' +
      'A difference is looked at again after ten seconds, because both sides move.',
    examples: [
      'operations-bridge verify',
      'operations-bridge verify --project icy-hat-70322459 --days 2 --json',
    ],
    exitCodes: {
      succeeded: 'everything agrees',
      failed: 'there is a difference, or a project could not be checked',
    },
  });
  return declareConnectionOptions(command)
    .option('--project <id>', 'only this project (default: all)')
    .option('--days <n>', 'operations of this many days', '7')
    .option('--requests-per-minute <n>', 'requests that go on to the upstream, at most', '60')
    .option('--json', 'prints a line of JSON for each project')
    .action((values: VerifyValues) => verify(values, surroundings));
}

const DAY_MS = 24 * 3_600_000;

async function verify(values: VerifyValues, surroundings: Surroundings): Promise<void> {
  const { clock, signal, print, note, exitWith } = surroundings;
  const days = parseInteger('days', values.days, { min: 1, max: 180 });
  const perMinute = parseInteger('requests-per-minute', values.requestsPerMinute, { min: 1, max: 600 });
  const client = createBridgeClient(await connectionFinder(values, surroundings), signal);
  const reading: Reading = {
    client,
    pace: () => clock.sleep(60_000 / perMinute, signal),
    since: new Date(clock.now() - days * DAY_MS).toISOString(),
  };
  const projects = values.project === undefined ? await listProjects(client) : [values.project];
  const verdicts: Verdict[] = [];
  for (const project of projects) {
    note(`Project ${verdicts.length + 1} of ${projects.length}: ${project}`);
    const verdict = await verifyProject(reading, project, surroundings);
    verdicts.push(verdict);
    for (const line of values.json ? [JSON.stringify(verdict)] : linesOf(verdict)) print(line);
  }
  const wrong = verdicts.filter(
    ({ differences, not_checked }) => differences.length > 0 || not_checked !== undefined,
  );
  note(`${verdicts.length - wrong.length} of ${verdicts.length} projects agree.`);
  if (wrong.length > 0) exitWith(EXIT_CODES.failed);
}

/** A poll of every project of a large account takes longer, but a command or an event is recorded within this time. */
const SECOND_LOOK_MS = 10_000;

async function verifyProject(
  reading: Reading,
  project_id: string,
  { clock, signal }: Surroundings,
): Promise<Verdict> {
  try {
    const first = await readProject(reading, project_id);
    const suspected = compareOperations(first);
    if (suspected.length === 0) return { project_id, checked: first.upstream.length, differences: [] };
    await clock.sleep(SECOND_LOOK_MS, signal);
    const second = await readProject(reading, project_id);
    const suspects = new Set(suspected.map(keyOf));
    const differences = compareOperations(second).filter((found) => suspects.has(keyOf(found)));
    return { project_id, checked: second.upstream.length, differences };
  } catch (error) {
    if (!(error instanceof BridgeRefusal)) throw error;
    return { project_id, checked: 0, differences: [], not_checked: error.message };
  }
}

function keyOf({ operation_id, kind }: Difference): string {
  return `${kind} ${operation_id}`;
}

function linesOf({ project_id, checked, differences, not_checked }: Verdict): readonly string[] {
  if (not_checked !== undefined) return [`not checked  ${project_id}: ${not_checked}`];
  if (differences.length === 0) return [`agrees       ${project_id}: ${checked} operations`];
  return differences.map(
    ({ kind, operation_id, found }) => `${kind.padEnd(12)} ${project_id} ${operation_id}: ${found}`,
  );
}
