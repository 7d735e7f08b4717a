/** `operations-bridge freeze` holds all commands of an account, and lets them go on. */

import * as z from 'zod';
import { oneLine } from '../../../shared/runtime/foreign-text.ts';
import { type Asked, asking, group, type OptionRow } from './subcommand.ts';

const JSON_ROW: OptionRow = ['--json', 'prints the answer as JSON'];

const standing = z.looseObject({
  frozen: z.boolean(),
  reason: z.string().optional(),
  client_id: z.string().optional(),
  since: z.string().optional(),
});

const on = asking({
  usage: 'on <reason>',
  summary: 'Holds all commands of the account. Callers see the reason.',
  description: 'It needs a token with commands:freeze. Queued commands wait, within their deadlines.',
  examples: ['operations-bridge freeze on "migration of the database"'],
  options: [JSON_ROW],
  act: (asked) => ask(asked, { method: 'POST', body: JSON.stringify({ reason: asked.args[0] }) }),
});

const off = asking({
  usage: 'off',
  summary: 'Lets the commands of the account go on.',
  description: 'It needs a token with commands:freeze.',
  examples: ['operations-bridge freeze off'],
  options: [JSON_ROW],
  act: (asked) => ask(asked, { method: 'DELETE' }),
});

const status = asking({
  usage: 'status',
  summary: 'Shows whether the commands of the account are held, and why.',
  examples: ['operations-bridge freeze status --json'],
  options: [JSON_ROW],
  act: (asked) => ask(asked, { method: 'GET' }),
});

async function ask(
  { connect, show }: Asked<unknown>,
  request: { readonly method: string; readonly body?: string },
): Promise<void> {
  const answer = await (await connect()).read({ ...request, path: '/bridge/v1/freeze' }, standing);
  const { frozen, reason, client_id, since } = answer;
  const held = `The commands are held since ${since} by ${client_id}: ${reason}`;
  show(answer, frozen ? oneLine(held) : 'The commands are not held.');
}

export const freezeSubcommand = group(
  {
    usage: 'freeze',
    summary: 'Holds all commands of the account, and lets them go on.',
    examples: ['operations-bridge freeze on "migration of the database"', 'operations-bridge freeze off'],
  },
  [on, off, status],
);
