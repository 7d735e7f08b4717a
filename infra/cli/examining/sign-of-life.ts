/**
 * Creates and deletes a branch through the bridge, and waits for the end of both commands: the call passes the API, its operations are
 * read by the poller, recorded in the table and told on the bus.
 */

import * as z from 'zod';
import { EXIT_CODES } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { runSubcommand } from '../subcommands/run.ts';
import { type Finding, notChecked, ok, problem } from './examine-bridge.ts';

const CHECK = 'sign of life';

/** `run --wait` gives up after this. A command that a lock refuses waits in line for as long. */
const TIMEOUT = '5m';

const report = z.looseObject({ outcome: z.string(), answer: z.unknown().optional() });

/** Branches of these names are ours, should one remain. */
const NAME = 'sign-of-life';

/** The project is the person's own; the branch has no compute, and lives for seconds. */
export async function giveSignOfLife(
  projectId: string,
  connection: readonly string[],
  surroundings: Surroundings,
): Promise<Finding> {
  const send = (method: string, path: string, ...more: readonly string[]) =>
    run(
      [method, path, '--queue', '--wait', '--timeout', TIMEOUT, '--json', ...connection, ...more],
      surroundings,
    );
  const branches = `/projects/${encodeURIComponent(projectId)}/branches`;
  const name = `${NAME}-${surroundings.clock.now().toString(36)}`;
  const created = await send('POST', branches, '--data', JSON.stringify({ branch: { name } }));
  if (!created.isEnded)
    return failed(`A branch of ${projectId} was to be created`, created, `Look for the branch ${name}`);
  const branch = z.object({ branch: z.object({ id: z.string() }) }).safeParse(created.answer).data?.branch.id;
  if (branch === undefined)
    return notChecked(CHECK, 'The answer has no branch.', `Look for the branch ${name}, and delete it.`);
  const deleted = await send('DELETE', `${branches}/${branch}`);
  if (!deleted.isEnded)
    return failed(`The branch ${branch} was to be deleted`, deleted, `Delete the branch ${branch}`);
  const [creation, deletion] = [created, deleted].map(({ ms }) => `${(ms / 1_000).toFixed(1)} s`);
  return ok(
    CHECK,
    `A branch of ${projectId} was created and deleted. The end of these commands came back through the poller, the table and the bus after ${creation} and ${deletion}.`,
  );
}

interface Ran {
  readonly isEnded: boolean;
  readonly outcome: string;
  readonly answer: unknown;
  readonly ms: number;
}

async function run(args: readonly string[], surroundings: Surroundings): Promise<Ran> {
  const { clock } = surroundings;
  const startedMs = clock.now();
  const printed: string[] = [];
  let code: number = EXIT_CODES.succeeded;
  await runSubcommand({
    ...surroundings,
    print: (line) => void printed.push(line),
    exitWith: (chosen) => {
      code = chosen;
    },
  }).parseAsync(args, { from: 'user' });
  const { outcome, answer } = report.parse(JSON.parse(printed.join('\n')));
  return { isEnded: code === EXIT_CODES.succeeded, outcome, answer, ms: clock.now() - startedMs };
}

function failed(what: string, { outcome, answer }: Ran, advice: string): Finding {
  const { message, detail } =
    z.looseObject({ message: z.string().optional(), detail: z.string().optional() }).safeParse(answer).data ??
    {};
  const reason = detail ?? message;
  return problem(
    CHECK,
    `${what}, and that is ${outcome}${reason === undefined ? '.' : `: ${reason}`}`,
    `${advice}, and see what "operations-bridge listen --since 10m" has of it.`,
  );
}
