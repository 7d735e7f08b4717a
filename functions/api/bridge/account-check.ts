/**
 * Judges an account before it counts: the form of its settings, what the deployment allows, and whether the upstream
 * takes its key. It says plainly what is wrong.
 */

import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import {
  type AccountSettings,
  accountFaults,
  accountSettings,
  commandSettingsOf,
  OWNER_CHARACTERS_MAX,
} from '../../../shared/accounts/account.ts';
import type { ServedAccount } from '../../../shared/accounts/account-directory.ts';
import type { AccountRules } from '../../../shared/config/account-rules.ts';
import type { ApiAccount } from '../../../shared/config/api-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { plainWords } from '../../../shared/runtime/read-config.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { outgoingRequest } from '../../../shared/upstream/forward.ts';
import { type KeySource, sendAndParse } from '../../../shared/upstream/send-with-key.ts';
import {
  createUpstreamClient,
  depsOf,
  type UpstreamClient,
  type UpstreamClientOptions,
} from '../../../shared/upstream/upstream-client.ts';
import { isUpstreamError, pathFault, type UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { invalid, Problem } from '../serving/problem.ts';

/** Says what the keys of an account can see. */
export interface AccountCheck {
  /** The key sees this many projects, of which at most `PROJECTS_SEEN_MAX` are counted. */
  readonly project_count: number;
  /** It is true when the key sees more projects than were counted. */
  readonly has_more_projects: boolean;
  /** These other accounts have the same key, as far as that can be seen without reading the secret of each. */
  readonly same_key_as?: readonly string[];
}

interface CheckedAccount {
  readonly check: AccountCheck;
  /** The upstream says that the key belongs to this owner: a person or an organization. It is undefined when it does not say. */
  readonly owner: string | undefined;
}

/** Rejects with `Problem` `account-unusable`. */
export type CheckAccount = (settings: AccountSettings) => Promise<CheckedAccount>;

export interface CheckPorts {
  readonly keyOf: (account: ApiAccount) => KeySource;
  /** Returns the accounts that the bridge has now. */
  readonly served: () => readonly ServedAccount<ApiAccount>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly fetch?: typeof fetch;
}

/** One request shows whether a key is good, and a person needs no exact number of many projects. */
const PROJECTS_SEEN_MAX = 100;

/** The check must leave time for its answer within the 28 seconds of a request. */
const CHECK_MS_MAX = 15_000;

/** The owner is asked for after the check, and both must leave time for the answer. */
const OWNER_MS_MAX = 5_000;

export function createAccountCheck(ports: CheckPorts): CheckAccount {
  return async (settings) => {
    const forCommands = commandSettingsOf(settings);
    const forPolling = { ...forCommands, key_secret_id: settings.key_secret_id };
    const seen = await checkKey(ports, forPolling, settings);
    if (settings.command_key_secret_id !== undefined) await checkKey(ports, forCommands, settings);
    const [same, owner] = await Promise.all([
      findSameKey(ports, forPolling),
      readOwner(clientOptions(ports, forPolling)),
    ]);
    return { check: { ...seen, ...(same.length > 0 && { same_key_as: same }) }, owner };
  };
}

/** The keys of 30 configured accounts at most are read, and the secret of this account, which was read just now. */
async function findSameKey({ keyOf, served }: CheckPorts, account: ApiAccount): Promise<readonly string[]> {
  const key = (await keyOf(account).current()).reveal();
  const near = served().filter(
    ({ origin, settings: { account_id, upstream_base_url, key_secret_id } }) =>
      account_id !== account.account_id &&
      upstream_base_url === account.upstream_base_url &&
      (origin === 'configured' || key_secret_id === account.key_secret_id),
  );
  const found = await Promise.all(
    near.map(async ({ settings }) => {
      // A key that cannot be read is shown by the health of its own account.
      const other = await keyOf(settings)
        .current()
        .catch(() => undefined);
      return other?.reveal() === key ? [settings.account_id] : [];
    }),
  );
  return found.flat();
}

/** A check spends nothing of the account's rate limit, because the account does not count yet. */
function clientOptions({ keyOf, ...ports }: CheckPorts, account: ApiAccount): UpstreamClientOptions {
  return {
    ...ports,
    baseUrl: account.upstream_base_url,
    apiKey: keyOf(account),
    budget: { take: async () => {}, pauseFor: () => {} },
  };
}

/** This call of the public API names the owner of the key that it is sent with. */
const OWNER_CALL = {
  method: 'GET',
  path: '/auth',
  summary: '',
  section: '',
  query: z.looseObject({}),
  answer: z.looseObject({ account_id: z.string().min(1).max(OWNER_CHARACTERS_MAX) }),
  status: 200,
} as const satisfies Call;

/** An account works without a known owner, so a failure only means that nobody knows whose it is. */
async function readOwner(options: UpstreamClientOptions): Promise<string | undefined> {
  const deps = depsOf(options);
  const outgoing = outgoingRequest(deps.base, OWNER_CALL, {});
  const signal = AbortSignal.timeout(OWNER_MS_MAX);
  const request = { ...outgoing, schema: OWNER_CALL.answer, signal, permit: undefined };
  const answer = await sendAndParse(deps, request).catch(() => undefined);
  return answer?.body.account_id;
}

async function checkKey(
  ports: CheckPorts,
  account: ApiAccount,
  { project_ids }: AccountSettings,
): Promise<AccountCheck> {
  const options = clientOptions(ports, account);
  // The key may have come into a secret that was read before.
  await options.apiKey.refresh().catch((error: unknown) => {
    throw unusable(secretSentence(account, error));
  });
  const client = createUpstreamClient(options);
  const signal = AbortSignal.timeout(CHECK_MS_MAX);
  try {
    if (project_ids !== undefined) {
      await checkProjects(client, project_ids, { account, signal });
      return { project_count: project_ids.length, has_more_projects: false };
    }
    const { projects } = await client.listProjects({ limit: PROJECTS_SEEN_MAX }, { signal });
    return {
      project_count: projects.length,
      has_more_projects: projects.length >= PROJECTS_SEEN_MAX,
    };
  } catch (error) {
    if (isUpstreamError(error)) throw unusable(upstreamSentence(account, error));
    throw error;
  }
}

/** The upstream takes some requests a second at once, so the projects, 100 at most, are tried one after the other. */
async function checkProjects(
  client: UpstreamClient,
  projectIds: readonly string[],
  { account, signal }: { readonly account: ApiAccount; readonly signal: AbortSignal },
): Promise<void> {
  for (const projectId of projectIds) {
    try {
      await client.listOperations({ projectId, limit: 1 }, { signal });
    } catch (error) {
      if (isUpstreamError(error) && (error.kind === 'forbidden' || error.kind === 'not_found'))
        throw unusable(
          `The upstream at ${hostOf(account)} does not let ${keyWords(account)} see the project ${projectId} (${error.status}); check project_ids.`,
        );
      throw error;
    }
  }
}

/** An error of AWS can quote what was sent, so only its name decides. */
function secretSentence({ key_secret_id: id }: ApiAccount, thrown: unknown): string {
  const error = toError(thrown);
  if (error instanceof AppError) return `${error.message}.`;
  if (error.name === 'ResourceNotFoundException') return `There is no secret named ${id}; create it first.`;
  if (/AccessDenied/.test(error.name)) return `The bridge may not read the secret ${id}.`;
  return `The secret ${id} could not be read (${error.name}); try again.`;
}

function upstreamSentence(account: ApiAccount, { kind, status }: UpstreamError): string {
  const host = hostOf(account);
  const key = keyWords(account);
  const fault = status === undefined || status === 429 ? undefined : pathFault(account.upstream_base_url);
  if (fault !== undefined) return `The upstream at ${host} answered ${status}; ${fault}.`;
  if (kind === 'unauthorized') return `The upstream at ${host} refuses ${key}.`;
  if (kind === 'forbidden' || kind === 'not_found')
    return `The upstream at ${host} does not let ${key} see the projects (${status}); a key that belongs to one project needs project_ids.`;
  if (kind === 'rate_limited')
    return `The upstream at ${host} refuses the request for its rate; try again in a minute.`;
  return `The upstream at ${host} gave no usable answer (${kind}${status === undefined ? '' : ` ${status}`}); check upstream_base_url, or try again.`;
}

function hostOf({ upstream_base_url }: ApiAccount): string {
  return new URL(upstream_base_url).host;
}

function keyWords({ key_secret_id }: ApiAccount): string {
  return `the key in the secret ${key_secret_id}`;
}

function unusable(sentence: string): Problem {
  return new Problem('account-unusable', { detail: `${sentence} Nothing was added or changed.` });
}

/** What is not given stays. `null` takes a setting back to its default. */
export type WantedSettings = { readonly [Name in keyof AccountSettings]?: AccountSettings[Name] | null };

/**
 * The default secret bears the id of the account. Throws `Problem` `invalid-request` when a field is wrong, or is not
 * allowed by the deployment.
 */
export function judgeSettings(input: { readonly account_id: string }, rules: AccountRules): AccountSettings {
  const key_secret_id = `${rules.keySecretPrefix}${input.account_id}`;
  const { data, error } = accountSettings.safeParse({ key_secret_id, ...input }, { error: plainWords });
  if (error !== undefined)
    throw invalid(
      error.issues.map(({ path, message }) => ({ field: ['body', ...path].join('.'), reason: message })),
    );
  const faults = accountFaults(data, rules);
  if (faults.length > 0)
    throw invalid(faults.map(({ field, reason }) => ({ field: `body.${field}`, reason })));
  return data;
}

/** Returns the settings as they are after the change. Throws like `judgeSettings`. */
export function changedSettings(
  found: AccountSettings,
  wanted: WantedSettings,
  rules: AccountRules,
): AccountSettings {
  const kept = Object.entries({ ...found, ...wanted }).filter(([, value]) => value !== null);
  return judgeSettings({ ...Object.fromEntries(kept), account_id: found.account_id }, rules);
}

/**
 * Whether a key sees what it should is known only after it was tried. A key that is named again is tried again, because
 * its secret may hold another one now.
 */
const TRIED = ['key_secret_id', 'command_key_secret_id', 'project_ids'] as const;

export function mustBeTried(wanted: WantedSettings): boolean {
  return TRIED.some((name) => wanted[name] !== undefined);
}

/** Returns the names of the settings that are not the same, in the order of the alphabet. */
export function differingSettings(one: object, other: object): readonly string[] {
  const [a, b] = [one, other] as readonly Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !isDeepStrictEqual(a?.[name], b?.[name])).toSorted();
}
