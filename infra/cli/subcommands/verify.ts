/** `operations-bridge verify` reads the upstream again and compares it with what the bridge has recorded and published. */

import * as z from 'zod';
import { oneLine } from '../../../shared/runtime/foreign-text.ts';
import { EXIT_CODES, parseInteger } from '../../process/command.ts';
import { type BridgeClient, BridgeRefusal, type FollowDeps, followWork } from '../bridge-client.ts';
import { listProjects, type Reading, type Verdict, verifyProject } from '../examining/verify-project.ts';
import { checkProjects, type FilterValues, filterRows, readFilters } from '../filters.ts';
import { type Asked, asking } from './subcommand.ts';

interface VerifyValues extends FilterValues<'project'> {
  readonly days: string;
  readonly requestsPerMinute: string;
  readonly repair?: true;
}

export const verifySubcommand = asking<VerifyValues>({
  usage: 'verify',
  summary: 'Reads the operations of the upstream again, and compares them with the table and the feed.',
  description:
    'It finds operations that are missing or invented, states that differ, and events that are missing from the chain of an operation. ' +
    'It reads through the bridge, needs a token with projects:read and operations:read, and changes nothing. ' +
    'A difference is looked at again after ten seconds, because both sides move. ' +
    'With --repair, which needs operations:repair as well, the poller reads the operations of these days again, and records and publishes those that are missing or have changed. ' +
    'An invented operation stays, because a repair removes nothing, and so does a gap where events were deleted from the table.',
  examples: [
    'operations-bridge verify',
    'operations-bridge verify --project icy-hat-70322459 --days 2 --json',
    'operations-bridge verify --days 2 --repair',
  ],
  exitCodes: {
    succeeded: 'everything agrees, if need be after the repair',
    failed: 'there is a difference, or no project, or one that could not be checked or repaired',
  },
  options: [
    ...filterRows('operations', ['project']),
    ['--days <n>', 'operations of this many days', '7'],
    ['--requests-per-minute <n>', 'requests that go on to the upstream, at most', '60'],
    ['--repair', 'has what differs repaired, within the last 180 days'],
    ['--json', 'prints a line of JSON for each project'],
  ],
  act: verify,
});

const DAY_MS = 24 * 3_600_000;

async function verify({ connect, values, ...asked }: Asked<VerifyValues>): Promise<void> {
  const { clock, signal, show, note, exitWith } = asked;
  const days = parseInteger('days', values.days, { min: 1, max: 180 });
  const perMinute = parseInteger('requests-per-minute', values.requestsPerMinute, { min: 1, max: 600 });
  const chosen = readFilters(values, ['project'], note);
  const client = await connect();
  const reading: Reading = {
    client,
    pace: () => clock.sleep(60_000 / perMinute, signal),
    since: new Date(clock.now() - days * DAY_MS).toISOString(),
  };
  const repair = (projectId: string) =>
    repairThroughBridge({ client, clock, signal, note }, projectId, reading.since);
  const deps = { reading, clock, signal, repair: values.repair ? repair : undefined };
  await checkProjects(client, chosen, note);
  const projects = chosen['project_id'] ?? (await listProjects(client));
  if (projects.length === 0) {
    note(
      'The bridge has seen no project of the account, so nothing was compared; see "operations-bridge doctor".',
    );
    return exitWith(EXIT_CODES.failed);
  }
  const verdicts: Verdict[] = [];
  for (const project of projects) {
    note(`Project ${verdicts.length + 1} of ${projects.length}: ${project}`);
    const verdict = await verifyProject(deps, project);
    verdicts.push(verdict);
    show(verdict, linesOf(verdict).join('\n'));
  }
  const wrong = verdicts.filter(
    ({ differences, not_checked }) => differences.length > 0 || not_checked !== undefined,
  );
  note(`${verdicts.length - wrong.length} of ${verdicts.length} projects agree.`);
  if (wrong.length > 0) exitWith(EXIT_CODES.failed);
}

function linesOf({
  project_id,
  checked,
  differences,
  repaired = [],
  not_checked,
}: Verdict): readonly string[] {
  if (not_checked !== undefined) return [`not checked  ${project_id}: ${not_checked}`];
  const lines = [
    ...repaired.map(
      ({ operation_id, found }) => `repaired     ${project_id} ${operation_id}: ${oneLine(found)}`,
    ),
    ...differences.map(
      ({ kind, operation_id, found }) =>
        `${kind.padEnd(12)} ${project_id} ${operation_id}: ${oneLine(found)}`,
    ),
  ];
  return differences.length > 0 ? lines : [...lines, `agrees       ${project_id}: ${checked} operations`];
}

const repair = z.looseObject({ state: z.enum(['in_progress', 'ended']) });

type RepairStanding = z.output<typeof repair>;

interface RepairDeps extends FollowDeps {
  readonly client: BridgeClient;
}

/**
 * Resolves when all operations since that time (ISO 8601) were read again. A repair that is in progress already is
 * awaited first, and an outage of the bridge is waited for. Rejects with `repair_stands_still` when the repair has not
 * ended after ten minutes.
 */
async function repairThroughBridge(deps: RepairDeps, projectId: string, since: string): Promise<void> {
  const { client } = deps;
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/repair`;
  const read = () => client.read({ method: 'GET', path }, repair);
  for (;;) {
    try {
      await client.read({ method: 'POST', path, body: JSON.stringify({ since }) }, repair);
      await untilEnded(deps, projectId, read);
      return;
    } catch (error) {
      if (!(error instanceof BridgeRefusal) || error.status !== 409) throw error;
      deps.note(`Another repair of ${projectId} is in progress, and is awaited first.`);
      await untilEnded(deps, projectId, read);
    }
  }
}

function untilEnded(
  deps: RepairDeps,
  projectId: string,
  read: () => Promise<RepairStanding>,
): Promise<unknown> {
  return followWork(deps, {
    noun: 'repair',
    name: `The repair of ${projectId}`,
    read,
    progressOf: () => `The poller reads the operations of ${projectId} again.`,
  });
}
