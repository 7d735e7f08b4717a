/** The freeze of an account: whether its commands are held and why, and the switch for it. */

import * as z from 'zod';
import type { Caller } from '../../../shared/callers/authorize.ts';
import type { AccountQueue } from '../queue/account-queue.ts';
import { freezeAccount, liftFreeze } from '../queue/freeze.ts';
import { notFound } from '../serving/problem.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { BRIDGE_MOUNT } from './bridge-mount.ts';
import type { QueueRouteDeps } from './queue-routes.ts';

const PATH = `${BRIDGE_MOUNT}/freeze`;

/** The reason stands in answers to callers, so it is short, and one line. */
const body = z.strictObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .regex(/^[^\p{Cc}]*$/u),
});

const answer = z.object({
  frozen: z.boolean(),
  reason: z.string().optional(),
  client_id: z.string().optional().describe('The caller who froze the account.'),
  since: z.string().optional(),
});

export function freezeRoutes(deps: QueueRouteDeps): readonly Route[] {
  const common = { path: PATH, group: 'Bridge', status: 200, answer } as const;
  return [
    {
      ...common,
      id: 'getFreeze',
      method: 'GET',
      summary: 'Whether the commands of the account are held, and why',
      access: 'operations:read',
      handle: async ({ caller }) => standing(queueOf(deps, caller)),
    },
    {
      ...common,
      id: 'freezeAccount',
      method: 'POST',
      summary: 'Hold all commands of the account',
      description:
        'Queued commands wait, within their deadlines. Other commands are answered 503 with the reason. Reads go on.',
      access: 'commands:freeze',
      isAccountWide: true,
      body,
      async handle(request) {
        const queue = queueOf(deps, request.caller);
        const { reason } = body.parse(request.body);
        await freezeAccount(queue, { reason, client_id: request.caller.client_id }, deps.clock);
        return standing(queue);
      },
    },
    {
      ...common,
      id: 'liftFreeze',
      method: 'DELETE',
      summary: 'Let the commands of the account go on',
      access: 'commands:freeze',
      isAccountWide: true,
      async handle({ caller }) {
        const queue = queueOf(deps, caller);
        await liftFreeze(queue, deps.wakes, { ...caller, newId: deps.newId });
        return standing(queue);
      },
    },
  ];
}

async function standing({ store }: AccountQueue): Promise<ApiAnswer> {
  const freeze = await store.readFreeze();
  if (freeze === undefined) return { status: 200, body: { frozen: false } };
  const { reason, client_id, changed_at: since } = freeze;
  return { status: 200, body: { frozen: true, reason, client_id, since } };
}

function queueOf({ queues }: QueueRouteDeps, { account_id }: Caller): AccountQueue {
  const queue = queues.get(account_id);
  if (queue === undefined) throw notFound();
  return queue;
}
