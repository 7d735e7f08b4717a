/** Reads the options of `npm run tokens`. */

import { parseArgs } from 'node:util';
import { SCOPE_BUNDLES, scopesNamed } from '../../shared/callers/scope-bundles.ts';
import { SCOPES, type Scope } from '../../shared/callers/scopes.ts';
import { TOKEN_DAYS_MAX } from '../../shared/callers/token-record.ts';
import { parseInteger, UsageError } from '../process/option-values.ts';

export const TOKENS_HELP = `npm run tokens -- create --client NAME --scopes S,S [options]   creates a token and prints it once
npm run tokens -- list [options]                                lists the tokens of the account
npm run tokens -- revoke TOKEN_ID [options]                     revokes one token
  --client NAME     the application that gets the token; its name appears in events, in the audit and in this list
  --scopes S,S      what the token may do. Bundles:
                    ${bundleLines()}
                    or RESOURCE:*, or some of
                    ${wrap(SCOPES)}
  --projects P,P    limits the token to these projects (default: all of the account)
  --settle          its commands wait for locks, and are answered when their operations have ended (up to 25 s);
                    for tools that assume that a call is done when it is answered
  --days N          number of days for which it is valid, 1 to ${TOKEN_DAYS_MAX} (default 30)
  --account ID      the account of the bridge (default main)
  --table NAME      the table of the bridge (default operations-bridge)
  --pepper-secret N name of the secret that keys the hashes (default operations-bridge/token-pepper)
  --endpoint URL    the address of a local AWS, as npm start prints it (default: AWS itself, with your credentials)
  --access-key KEY  the access key of that local AWS, as npm start prints it (default: AWS_ACCESS_KEY_ID)`;

interface Place {
  readonly account: string;
  readonly table: string;
  readonly pepperSecret: string;
  readonly endpoint: string | undefined;
  readonly accessKey: string | undefined;
}

export type TokenOptions = Place &
  (
    | {
        readonly command: 'create';
        readonly client: string;
        readonly scopes: readonly Scope[];
        readonly projects: readonly string[] | undefined;
        readonly settles: boolean;
        readonly days: number;
      }
    | { readonly command: 'list' }
    | { readonly command: 'revoke'; readonly tokenId: string }
  );

/** Returns undefined when help was asked for. Throws `UsageError`, or what `parseArgs` throws. */
export function parseTokenOptions(args: readonly string[]): TokenOptions | undefined {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      client: { type: 'string' },
      scopes: { type: 'string' },
      projects: { type: 'string' },
      settle: { type: 'boolean', default: false },
      days: { type: 'string', default: '30' },
      account: { type: 'string', default: 'main' },
      table: { type: 'string', default: 'operations-bridge' },
      'pepper-secret': { type: 'string', default: 'operations-bridge/token-pepper' },
      endpoint: { type: 'string' },
      'access-key': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [command, tokenId] = positionals;
  if (values.help || command === undefined) return undefined;
  const { account, table, endpoint } = values;
  const accessKey = values['access-key'] ?? process.env['AWS_ACCESS_KEY_ID'];
  const place: Place = { account, table, pepperSecret: values['pepper-secret'], endpoint, accessKey };
  switch (command) {
    case 'create':
      return {
        ...place,
        command,
        client: parseClient(values.client),
        scopes: parseScopes(values.scopes),
        projects: values.projects?.split(',').map((project) => project.trim()),
        settles: values.settle,
        days: parseInteger('days', values.days, { min: 1, max: TOKEN_DAYS_MAX }),
      };
    case 'list':
      return { ...place, command };
    case 'revoke':
      if (tokenId === undefined)
        throw new UsageError('Say which token to revoke: its id, as "list" shows it.');
      return { ...place, command, tokenId: idOf(tokenId) };
    default:
      throw new UsageError(`"${command}" is no command; there are create, list and revoke.`);
  }
}

/** Returns the id of a token. People paste the whole token when they want to revoke it, so only its id is kept. */
function idOf(text: string): string {
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
  const known = `${SCOPES.join(', ')}; the bundles ${bundles}; and RESOURCE:*`;
  if (names.length === 0) throw new UsageError(`--scopes is missing; there are ${known}.`);
  const granted = names.flatMap((name) => {
    const scopes = scopesNamed(name);
    if (scopes === undefined) throw new UsageError(`--scopes has "${name}"; there are ${known}.`);
    return scopes;
  });
  return SCOPES.filter((scope) => granted.includes(scope));
}

function bundleLines(): string {
  const bundles = Object.entries(SCOPE_BUNDLES).map(([name, { meaning }]) => `${name.padEnd(9)} ${meaning}`);
  return bundles.join(`\n${' '.repeat(20)}`);
}

/** Indents continuation lines to the column of explanations. */
function wrap(names: readonly string[]): string {
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + name.length < 70) lines[lines.length - 1] = `${last} ${name}`;
    else lines.push(name);
  }
  return lines.join(`\n${' '.repeat(20)}`);
}
