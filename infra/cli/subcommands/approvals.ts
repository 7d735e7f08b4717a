/** `operations-bridge approvals` shows the calls that wait for a person, and approves or denies one. */

import * as z from 'zod';
import { UsageError } from '../../process/command.ts';
import { type Columns, rowPrinter } from '../pages.ts';
import { type Asked, asking, group, type OptionRow } from './subcommand.ts';

const PATH = '/bridge/v1/approvals';

const JSON_ROW: OptionRow = ['--json', 'prints each as a line of JSON'];

const approval = z.looseObject({
  approval_id: z.string(),
  project_id: z.string(),
  client_id: z.string(),
  call: z.string(),
  request: z.string().optional(),
  state: z.string(),
  expires_at: z.string().optional(),
});

type Approval = z.output<typeof approval>;

const COLUMNS: Columns<Approval> = {
  APPROVAL: ({ approval_id }) => approval_id,
  REQUEST: requestOf,
  'ASKED BY': ({ client_id }) => client_id,
  UNTIL: ({ expires_at }) => expires_at,
};

const list = asking({
  usage: 'list',
  summary: 'Shows the calls that wait for a person; the oldest comes first.',
  examples: ['operations-bridge approvals list --json'],
  options: [JSON_ROW],
  async act(asked) {
    const { connect, print, values } = asked;
    const answer = z.object({ approvals: z.array(approval) });
    const { approvals } = await (await connect()).read({ method: 'GET', path: PATH }, answer);
    if (approvals.length === 0 && !values.json) print('Nothing waits for a person.');
    rowPrinter(COLUMNS, asked)(approvals);
  },
});

function requestOf({ request, call, project_id }: Approval): string {
  return request ?? `${call} in ${project_id}`;
}

const NEEDS = 'It needs a token with commands:approve that is not the one that asked.';

const approve = asking({
  usage: 'approve <id>',
  summary: 'Approves a call, which then enters the line of its project.',
  description: NEEDS,
  examples: ['operations-bridge approvals approve 2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10'],
  options: [JSON_ROW],
  act: (asked) => decide(asked, { decision: 'approve' }),
});

interface DenyValues {
  readonly reason?: string;
}

const deny = asking<DenyValues>({
  usage: 'deny <id>',
  summary: 'Denies a call, which is never sent.',
  description: NEEDS,
  examples: ['operations-bridge approvals deny 2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10 --reason "still in use"'],
  options: [JSON_ROW, ['--reason <text>', 'why; the one who asked reads it']],
  act: (asked) =>
    decide(asked, { decision: 'deny', ...(asked.values.reason && { reason: asked.values.reason }) }),
});

async function decide(
  { args: [id = ''], connect, show }: Asked<unknown>,
  body: { readonly decision: 'approve' | 'deny'; readonly reason?: string },
): Promise<void> {
  if (!/^[\w-]{1,100}$/.test(id))
    throw new UsageError(`"${id}" is no id of an approval; "operations-bridge approvals list" shows them.`);
  const client = await connect();
  const answer = z.object({ approval });
  const { approval: decided } = await client.read(
    { method: 'POST', path: `${PATH}/${id}`, body: JSON.stringify(body) },
    answer,
  );
  const end =
    body.decision === 'approve' ? 'is approved and is sent in its turn' : 'is denied and is not sent';
  show(decided, `${requestOf(decided)} ${end}.`);
}

export const approvalsSubcommand = group(
  {
    usage: 'approvals',
    summary: 'Shows the calls that wait for a person, and approves or denies them.',
    examples: [
      'operations-bridge approvals list',
      'operations-bridge approvals approve 2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10',
    ],
  },
  [list, approve, deny],
);
