/** Serves the commands that wait for a person: which they are, one of them, and the decision of a person. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import { APPROVALS_LINE, type QueuedCommand } from '../../../shared/commands/queued-command.ts';
import { isoTimeOf } from '../../../shared/records/time.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import type { Route } from '../serving/route.ts';
import { commandSchema } from '../upstream/account-queue.ts';
import { APPROVALS_PATH, approvalFor, decideApproval } from '../upstream/approve-command.ts';
import { ofCaller } from './bridge-route.ts';
import type { QueueRouteDeps } from './command-routes.ts';

const approval = z.object({
  approval_id: z.string(),
  project_id: z.string(),
  client_id: z.string().describe('The caller who asked.'),
  call: z.string(),
  request: z.string().optional().describe('What would be sent, such as `DELETE /projects/shop-1`.'),
  state: commandSchema.shape.state.describe('awaiting_approval until a person decides or the time is over.'),
  asked_at: z.string(),
  expires_at: z.string().optional().describe('Nobody can approve it from then on.'),
  decided_by: z.string().optional(),
  decided_at: z.string().optional(),
  reason: z.string().optional(),
});

const decision = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  /** It stands in the answer to the one who asked, so it is short, and one line. */
  reason: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .regex(/^[^\p{Cc}]*$/u)
    .optional(),
});

const ONE = `${APPROVALS_PATH}/{approval_id}`;

export function approvalRoutes(deps: QueueRouteDeps): readonly Route[] {
  const common = { group: 'Bridge', status: 200 } as const;
  return [
    {
      ...common,
      id: 'listApprovals',
      method: 'GET',
      path: APPROVALS_PATH,
      summary: 'Commands that wait for a person, the oldest first',
      description: 'A token has rules that say which of its calls wait. Nothing of them is done yet.',
      access: 'operations:read',
      answer: z.object({ approvals: z.array(approval) }),
      async handle({ caller }) {
        return { status: 200, body: { approvals: (await waitingFor(deps, caller)).map(approvalView) } };
      },
    },
    {
      ...common,
      id: 'getApproval',
      method: 'GET',
      path: ONE,
      summary: 'A command that waits for a person, or what was decided',
      access: 'operations:read',
      answer: z.object({ approval }),
      async handle({ caller, ids }) {
        const command = await approvalFor(ofCaller(deps.queues, caller), caller, ids['approval_id'] ?? '');
        return { status: 200, body: { approval: approvalView(command) } };
      },
    },
    {
      ...common,
      id: 'decideApproval',
      method: 'POST',
      path: ONE,
      summary: 'Approve or deny a command that waits for a person',
      description:
        'An approved command enters the line of its project. The caller who asked cannot decide. The first decision holds; the same one sent again is answered alike.',
      access: 'commands:approve',
      body: decision,
      answer: z.object({ approval }),
      furtherProblems: ['approval-own', 'approval-decided'],
      async handle({ caller, ids, body }) {
        const { decision: decided, reason } = decision.parse(body);
        const asked = { commandId: ids['approval_id'] ?? '', isApproved: decided === 'approve', reason };
        const command = await decideApproval(deps, ofCaller(deps.queues, caller), caller, asked);
        const { client_id: asked_by, project_id, call } = command;
        const about = { asked_by, project_id, call, decision: decided };
        return { status: 200, body: { approval: approvalView(command) }, about };
      },
    },
  ];
}

const READS_AT_ONCE = 10;

async function waitingFor(deps: QueueRouteDeps, caller: Caller): Promise<readonly QueuedCommand[]> {
  const { store } = ofCaller(deps.queues, caller);
  const { entries } = await store.readLine(APPROVALS_LINE);
  const found = new Map<string, QueuedCommand | undefined>();
  await forEachConcurrently(entries, READS_AT_ONCE, async ({ command_id }) => {
    found.set(command_id, await unlessUnreadable(store.readCommand(command_id)));
  });
  return entries
    .flatMap(({ command_id }) => found.get(command_id) ?? [])
    .filter(({ state, project_id }) => state === 'awaiting_approval' && maySee(caller, project_id));
}

function approvalView(command: QueuedCommand): z.input<typeof approval> {
  const { command_id, project_id, client_id, call, state, accepted_at, deadline_at_ms } = command;
  const { decided_by, decided_at, reason } = command;
  const isWaiting = state === 'awaiting_approval';
  return {
    approval_id: command_id,
    project_id,
    client_id,
    call,
    request: command.request_line,
    state,
    asked_at: accepted_at,
    ...(isWaiting && { expires_at: isoTimeOf(deadline_at_ms) }),
    decided_by,
    decided_at,
    reason,
  };
}
