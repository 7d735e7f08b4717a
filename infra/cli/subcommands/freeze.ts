/** `operations-bridge freeze` holds all commands of an account, and lets them go on. */

import type { Command } from 'commander';
import * as z from 'zod';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeRequest, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { createSubcommand } from './subcommand.ts';

interface FreezeValues extends ConnectionValues {
  readonly json?: true;
}

const standing = z.looseObject({
  frozen: z.boolean(),
  reason: z.string().optional(),
  client_id: z.string().optional(),
  since: z.string().optional(),
});

export function freezeSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'freeze',
    summary: 'Holds all commands of the account, and lets them go on.',
    examples: ['operations-bridge freeze on "migration of the database"', 'operations-bridge freeze off'],
  });
  const on = createSubcommand({
    usage: 'on <reason>',
    summary: 'Holds all commands of the account. Callers see the reason.',
    description: 'It needs a token with commands:freeze. Queued commands wait, within their deadlines.',
    examples: ['operations-bridge freeze on "migration of the database"'],
  });
  const off = createSubcommand({
    usage: 'off',
    summary: 'Lets the commands of the account go on.',
    description: 'It needs a token with commands:freeze.',
    examples: ['operations-bridge freeze off'],
  });
  const status = createSubcommand({
    usage: 'status',
    summary: 'Shows whether the commands of the account are held, and why.',
    examples: ['operations-bridge freeze status --json'],
  });
  for (const each of [on, off, status])
    declareConnectionOptions(each).option('--json', 'prints the answer as JSON');

  on.action((reason: string, values: FreezeValues) =>
    ask({ method: 'POST', body: JSON.stringify({ reason }) }, values, surroundings),
  );
  off.action((values: FreezeValues) => ask({ method: 'DELETE' }, values, surroundings));
  status.action((values: FreezeValues) => ask({ method: 'GET' }, values, surroundings));
  return command.addCommand(on).addCommand(off).addCommand(status);
}

async function ask(
  request: Pick<BridgeRequest, 'method' | 'body'>,
  values: FreezeValues,
  surroundings: Surroundings,
): Promise<void> {
  const client = createBridgeClient(await connectionFinder(values, surroundings), surroundings);
  const answer = await client.read({ ...request, path: '/bridge/v1/freeze' }, standing);
  const { frozen, reason, client_id, since } = answer;
  const sentence = frozen
    ? `The commands are held since ${since} by ${client_id}: ${reason}`
    : 'The commands are not held.';
  surroundings.print(values.json ? JSON.stringify(answer) : sentence);
}
