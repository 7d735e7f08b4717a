/**
 * Reads the options of `operations-bridge tokens`. Each rule of `--approve` must name calls that can wait for a person.
 */

import { SCOPE_BUNDLES, SCOPES, type Scope, scopesNamed } from '../../../shared/callers/scopes.ts';
import { APPROVAL_RULES_MAX, ruleNames, TOKEN_DAYS_MAX } from '../../../shared/callers/tokens.ts';
import { isAboutOneProject, type TableCall } from '../../../shared/upstream/calls/call.ts';
import { allCalls } from '../../../shared/upstream/calls/calls.ts';
import { parseInteger, UsageError } from '../../process/command.ts';
import type { Environment } from '../../process/surroundings.ts';
import { findLocalRun } from '../connection.ts';
import { editsBetween } from '../filters.ts';
import type { OptionRow } from '../subcommands/subcommand.ts';

/** Throws `UsageError`, which says what is wrong with which rule. */
function readApprovalRules(texts: readonly string[] = []): readonly string[] {
  const rules = texts.flatMap((text) => text.split(',')).map(plainRule);
  if (rules.length > APPROVAL_RULES_MAX)
    throw new UsageError(`--approve has ${rules.length} rules; a token has at most ${APPROVAL_RULES_MAX}.`);
  for (const rule of rules) {
    const fault = faultOf(rule);
    if (fault !== undefined) throw new UsageError(`--approve has "${rule}", which ${fault}.`);
  }
  return [...new Set(rules)];
}

function plainRule(text: string): string {
  const [method = '', path = ''] = text.trim().split(/\s+/);
  return `${method.toUpperCase()} ${path}`;
}

function faultOf(rule: string): string | undefined {
  const named = Object.entries(allCalls).filter(([, call]) =>
    ruleNames(rule, call, (wanted, segment) => wanted === segment || segment.startsWith('{')),
  );
  if (named.length === 0) return `names no call of the upstream; did you mean "${nearestTo(rule)}"`;
  const [id, unable] = named.find(([, call]) => !canWait(call)) ?? [];
  if (unable === undefined) return undefined;
  if (unable.method === 'GET') return `names ${id}, which changes nothing; leave the rule out`;
  const why =
    unable.shows === 'issued'
      ? 'whose answer is a secret that is shown once and is not kept'
      : 'which is about no single project and cannot wait';
  return `names ${id}, ${why}; leave the scope ${unable.scope} out of --scopes instead`;
}

function canWait(call: TableCall): boolean {
  return isAboutOneProject(call) && call.shows !== 'issued';
}

/** Ids stand as `*` in the proposal, as they do in most rules. */
function nearestTo(rule: string): string {
  const proposals = Object.values(allCalls)
    .filter(canWait)
    .map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '*')}`);
  const wanted = rule.slice(0, RULE_CHARACTERS_COMPARED);
  return proposals
    .map((proposal) => ({ proposal, edits: editsBetween(wanted, proposal) }))
    .reduce((best, one) => (one.edits < best.edits ? one : best)).proposal;
}

/** No path of a call is as long, and a comparison takes time with the product of both lengths. */
const RULE_CHARACTERS_COMPARED = 200;

/** Where the tokens are kept. */
export interface TokenPlace {
  readonly account: string;
  readonly table: string;
  readonly pepperSecret: string;
  /** The address of a local AWS; undefined is AWS itself. */
  readonly endpoint: string | undefined;
  readonly accessKey: string | undefined;
  /** The account is certain to exist. */
  readonly isAccountKnown: boolean;
}

export interface PlaceValues {
  readonly account: string;
  readonly table: string;
  readonly pepperSecret: string;
  readonly endpoint?: string;
  readonly local?: true;
}

export interface CreateValues extends PlaceValues {
  readonly client?: string;
  readonly scopes?: string;
  readonly projects?: string;
  readonly settle?: true;
  readonly approve?: readonly string[];
  readonly days: string;
}

export interface TokenOrder {
  readonly client: string;
  readonly scopes: readonly Scope[];
  readonly projects: readonly string[] | undefined;
  readonly settles: boolean;
  readonly approve: readonly string[];
  readonly days: number;
}

/** Every run of `start` has this account, and it is the first one of the example configuration. */
const ACCOUNT_OF_RUN = 'main';

export const PLACE_OPTIONS: readonly OptionRow[] = [
  ['--account <id>', 'the account of the bridge', ACCOUNT_OF_RUN],
  ['--table <name>', 'the table of the bridge', 'operations-bridge'],
  ['--pepper-secret <name>', 'the secret that keys the hashes', 'operations-bridge/token-pepper'],
  ['--local', 'the bridge that "start" runs on this machine, instead of AWS with your credentials'],
  ['--endpoint <url>', 'a local AWS, whose access key is in AWS_ACCESS_KEY_ID'],
  ['--json', 'prints JSON'],
];

export const CREATE_OPTIONS: readonly OptionRow[] = [
  [
    '--client <name>',
    'the application that gets the token; its name appears in events, in the audit and in the list of tokens',
  ],
  [
    '--scopes <s,s>',
    `what the token may do: scopes (docs/api.md), RESOURCE:*, or a bundle: ${Object.keys(SCOPE_BUNDLES).join(', ')}`,
  ],
  ['--projects <p,p>', 'limits the token to these projects (default: all of the account)'],
  [
    '--settle',
    'its commands wait for locks, and are answered when their operations have ended (up to 25 s); for tools that assume that a call is done when it is answered',
  ],
  [
    '--approve <rule>',
    'a person approves these calls first, such as "DELETE /projects/*", where * is one segment of the path',
    [],
  ],
  ['--days <n>', `number of days for which it is valid, 1 to ${TOKEN_DAYS_MAX}`, '30'],
];

/** Throws `UsageError`. */
export function readPlace(values: PlaceValues, environment: Environment): TokenPlace {
  const { account, table, pepperSecret } = values;
  if (values.local !== true) {
    const { endpoint } = values;
    const accessKey = environment['AWS_ACCESS_KEY_ID'];
    return { account, table, pepperSecret, endpoint, accessKey, isAccountKnown: false };
  }
  const run = findLocalRun(environment);
  if (run === undefined)
    throw new UsageError(
      'No bridge runs on this machine; run "operations-bridge start", or leave --local out.',
    );
  const { aws_endpoint: endpoint, access_key_id: accessKey } = run;
  return { account, table, pepperSecret, endpoint, accessKey, isAccountKnown: account === ACCOUNT_OF_RUN };
}

/** Throws `UsageError`. */
export function readOrder(values: CreateValues): TokenOrder {
  return {
    client: parseClient(values.client),
    scopes: parseScopes(values.scopes),
    projects: values.projects?.split(',').map((project) => project.trim()),
    settles: values.settle === true,
    approve: readApprovalRules(values.approve),
    days: parseInteger('days', values.days, { min: 1, max: TOKEN_DAYS_MAX }),
  };
}

/** Returns the id of a token. People paste the whole token when they want to revoke it, so only its id is kept. */
export function tokenIdIn(text: string): string {
  return /^opb_([0-9a-f]{18})_/.exec(text)?.[1] ?? text;
}

function parseClient(client: string | undefined): string {
  if (client !== undefined && /^[a-z0-9][a-z0-9._-]{0,62}$/.test(client)) return client;
  throw new UsageError(
    `--client is ${client === undefined ? 'missing' : `"${client}"`}; it takes a name of lower-case letters, digits, dots and dashes.`,
  );
}

function parseScopes(text: string | undefined): readonly Scope[] {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const bundles = Object.keys(SCOPE_BUNDLES).join(', ');
  const known = `the bundles ${bundles}, RESOURCE:*, and the scopes ${SCOPES.join(', ')}`;
  if (names.length === 0) throw new UsageError(`--scopes is missing; there are ${known}.`);
  const granted = names.flatMap((name) => {
    const scopes = scopesNamed(name);
    if (scopes === undefined) throw new UsageError(`--scopes has "${name}"; there are ${known}.`);
    return scopes;
  });
  return SCOPES.filter((scope) => granted.includes(scope));
}
