/** Serves the accounts of the bridge to its administrators: each is added, paused, changed and removed here. */

import * as z from 'zod';
import { type AccountSettings, accountShape, lane } from '../../../shared/accounts/account.ts';
import { invalid } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest, Route } from '../serving/route.ts';
import {
  type AccountAdminDeps,
  addAccount,
  changeAccount,
  removeAccount,
  validateAccount,
  validateChange,
} from './account-admin.ts';
import { judgeSettings } from './account-check.ts';
import { accountView } from './account-routes.ts';
import { BRIDGE_MOUNT } from './bridge-route-ids.ts';

export interface AccountAdminRouteDeps {
  readonly accountAdmin: AccountAdminDeps;
}

const PATH = `${BRIDGE_MOUNT}/accounts`;

const addBody = z.strictObject({
  ...accountShape,
  upstream_base_url: accountShape.upstream_base_url
    .optional()
    .describe("By default that of the caller's own account. Its host must be one of `upstream_hosts`."),
  key_secret_id: accountShape.key_secret_id
    .optional()
    .describe('By default the secret `<name>/upstream-keys/<account_id>`.'),
  lane: lane
    .optional()
    .describe('The account is polled in this lane, and not in one that follows from its id.'),
});

/** These stay what they are: the id names records, and another address is another account. */
const { account_id: _id, upstream_base_url: _url, ...changeable } = accountShape;

const changeBody = z.strictObject({
  state: z.enum(['active', 'paused']).optional(),
  lane: lane.nullable().optional().describe('null takes the pin away.'),
  ...(Object.fromEntries(
    Object.entries(changeable).map(([name, schema]) => [name, withoutDefault(schema).nullable().optional()]),
  ) as { [Name in keyof typeof changeable]: z.ZodOptional<z.ZodNullable<z.ZodType<AccountSettings[Name]>>> }),
});

/** What is not given stays, so a default must not fill it in. */
function withoutDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema;
}

const check = z.object({
  project_count: z.number().describe('The number of projects that the key sees; at most 100 are counted.'),
  has_more_projects: z.boolean(),
  same_key_as: z
    .array(z.string())
    .optional()
    .describe('These other accounts have the same key, as far as the bridge could see.'),
});

const answer = {
  check: check.optional().describe('Absent when nothing was tried at the upstream.'),
  warnings: z.array(z.string()).optional().describe('What is allowed, and hardly meant.'),
};

const validated = z.object({
  validated: z.literal(true),
  key_secret_id: accountShape.key_secret_id.describe('The bridge will read the key from this secret.'),
});

const validation = z.strictObject({
  validate_only: z
    .stringbool({ truthy: ['true'], falsy: ['false'] })
    .default(false)
    .describe('With true, all but the key is judged, and nothing is added or changed.'),
});

export function accountAdminRoutes(deps: AccountAdminRouteDeps): readonly Route[] {
  const common = {
    group: 'Bridge',
    access: 'accounts:write',
    isAccountWide: true,
    status: 200,
    isClosedWhilePaused: true,
  } as const;
  return [
    {
      ...common,
      id: 'addAccount',
      method: 'POST',
      path: PATH,
      summary: 'Add an account of the upstream while the bridge runs',
      description:
        'The bridge reads the key from its secret and asks the upstream for the projects, and only then adds the account. Every function of the bridge serves it within 15 seconds. The same request again gives the same account back, and nothing is added. With `validate_only=true` the answer names the secret when nothing but its key is left to judge, so that the key can be put there.',
      query: validation,
      body: addBody,
      audited: ['account_id'],
      otherStatuses: [201],
      answer: z.union([z.object({ account: accountView, ...answer }), validated]),
      furtherProblems: ['account-conflict', 'account-unusable', 'record-unreadable'],
      handle: (request) => add(deps.accountAdmin, request),
    },
    {
      ...common,
      id: 'changeAccount',
      method: 'PATCH',
      path: `${PATH}/{account_id}`,
      summary: 'Pause an account, let it go on, pin it to a lane, or change its settings',
      description:
        'Nothing is sent to the upstream for a paused account: it is not polled, calls are refused with 503, and queued commands wait within their deadlines. An account of the deployment can only be paused here. `null` takes a setting back to its default. Keys and `project_ids` are tried at the upstream when the request names them, also if they stay the same, because a secret may hold another key now. With `validate_only=true` the answer is as it is for a new account. A change takes effect within 15 seconds.',
      query: validation,
      body: changeBody,
      answer: z.union([z.object({ account: accountView, ...answer }), validated]),
      furtherProblems: ['account-conflict', 'account-unusable', 'record-unreadable'],
      handle: (request) => change(deps.accountAdmin, request),
    },
    {
      ...common,
      id: 'removeAccount',
      method: 'DELETE',
      path: `${PATH}/{account_id}`,
      summary: 'Remove an account that was added while the bridge runs',
      description:
        'It is polled no more, and its tokens end for good. What was recorded of it stays, and goes on if an account of the same owner is added again. It is refused while commands of the account wait in line.',
      status: 204,
      furtherProblems: ['account-conflict', 'record-unreadable'],
      async handle({ ids, caller }) {
        const accountId = ids['account_id'] ?? '';
        const concerns = concernsOf(deps.accountAdmin, caller, accountId);
        await removeAccount(deps.accountAdmin, accountId, { changed_by: caller.client_id });
        return { status: 204, ...concerns };
      },
    },
  ];
}

async function add(deps: AccountAdminDeps, { query, body, caller }: ApiRequest): Promise<ApiAnswer> {
  const { lane: pinned, ...input } = addBody.parse(body);
  const upstream_base_url = deps.directory.get(caller.account_id)?.settings.upstream_base_url;
  const settings = judgeSettings({ upstream_base_url, ...input }, deps.rules);
  if (query['validate_only'] === true) {
    await validateAccount(deps, settings, { lane: pinned });
    return validatedAnswer(settings);
  }
  const added = await addAccount(deps, settings, { lane: pinned, changed_by: caller.client_id });
  if (added.check === undefined) return { status: 200, body: added };
  return { status: 201, body: added, ...concernsOf(deps, caller, settings.account_id) };
}

function validatedAnswer({ key_secret_id }: AccountSettings): ApiAnswer {
  return { status: 200, body: { validated: true, key_secret_id } };
}

/** Names the account that the caller changes when it is served now and is not the caller's own. */
function concernsOf(
  { directory }: AccountAdminDeps,
  caller: ApiRequest['caller'],
  account_id: string,
): Pick<ApiAnswer, 'concerns'> {
  const generation = directory.get(account_id)?.generation;
  const isOther = generation !== undefined && account_id !== caller.account_id;
  return isOther ? { concerns: { account_id, generation } } : {};
}

async function change(deps: AccountAdminDeps, { ids, query, body, caller }: ApiRequest): Promise<ApiAnswer> {
  const accountId = ids['account_id'] ?? '';
  const { state, lane: pinned, ...settings } = changeBody.parse(body);
  const given = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
  if (state === undefined && pinned === undefined && Object.keys(given).length === 0)
    throw invalid([{ field: 'body', reason: 'names nothing to change' }]);
  if (query['validate_only'] === true) return validatedAnswer(await validateChange(deps, accountId, given));
  const changed = await changeAccount(deps, accountId, {
    state,
    ...(pinned !== undefined && { lane: pinned }),
    settings: given,
    changed_by: caller.client_id,
  });
  return { status: 200, body: changed, ...concernsOf(deps, caller, accountId) };
}
