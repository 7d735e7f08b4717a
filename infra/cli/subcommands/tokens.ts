/** `operations-bridge tokens` issues, lists and revokes the tokens of callers. */

import type { TokenRecord } from '../../../shared/callers/tokens.ts';
import { EXIT_CODES } from '../../process/command.ts';
import {
  CREATE_OPTIONS,
  type CreateValues,
  PLACE_OPTIONS,
  type PlaceValues,
  readOrder,
  readPlace,
  tokenIdIn,
} from '../access/token-options.ts';
import { acting, group } from './subcommand.ts';

const loadManager = () => import('../access/manage-tokens.ts');

const create = acting<CreateValues>({
  usage: 'create',
  summary: 'Creates a token, and prints it once.',
  examples: [
    'operations-bridge tokens create --client my-app --scopes viewer',
    'operations-bridge tokens create --client ci --scopes computes:restart,operations:read --projects a-1,b-2 --days 7',
    'operations-bridge tokens create --client agent --scopes deployer,projects:delete --approve "DELETE /projects/*"',
  ],
  options: [...CREATE_OPTIONS, ...PLACE_OPTIONS],
  async act({ environment, print, note, clock, values }) {
    const [order, place] = [readOrder(values), readPlace(values, environment)];
    const { createToken, tokenLines } = await loadManager();
    const { record, token, warning } = await createToken(place, order);
    if (warning !== undefined) note(warning);
    if (values.json) return print(JSON.stringify({ ...shownRecord(record), token: token.reveal() }));
    for (const line of tokenLines(record, clock.now())) note(line);
    note('The token is shown only this time:');
    print(token.reveal());
  },
});

const list = acting<PlaceValues>({
  usage: 'list',
  summary: 'Lists the tokens of the account, without the tokens themselves.',
  examples: ['operations-bridge tokens list --json'],
  options: PLACE_OPTIONS,
  async act({ environment, print, clock, values }) {
    const { listTokens, tokenLines, stateOfToken } = await loadManager();
    const records = await listTokens(readPlace(values, environment));
    const nowMs = clock.now();
    const shown = records.map((record) => ({ ...shownRecord(record), state: stateOfToken(record, nowMs) }));
    if (values.json) return print(JSON.stringify(shown));
    if (records.length === 0) print(`Account ${values.account} has no tokens.`);
    for (const record of records) print([...tokenLines(record, nowMs), ''].join('\n'));
  },
});

const revoke = acting<PlaceValues>({
  usage: 'revoke <token-id>',
  summary: 'Revokes a token, which stops working within ten seconds.',
  description: 'It takes the id that "list" shows, or the whole token.',
  examples: ['operations-bridge tokens revoke 73b3d55521c274386f'],
  exitCodes: { failed: 'there is no such token, or it was revoked before' },
  options: PLACE_OPTIONS,
  async act({ args: [text = ''], environment, print, note, exitWith, values }) {
    const { revokeToken } = await loadManager();
    const tokenId = tokenIdIn(text);
    const revoked = await revokeToken(readPlace(values, environment), tokenId);
    if (values.json) print(JSON.stringify({ token_id: tokenId, revoked }));
    else if (revoked) print(`Token ${tokenId} is revoked; it stops working within ten seconds.`);
    else note(`There is no token ${tokenId} that is valid; "list" shows them all.`);
    if (!revoked) exitWith(EXIT_CODES.failed);
  },
});

export const tokensSubcommand = group(
  {
    usage: 'tokens',
    summary: 'Creates, lists and revokes the tokens of callers, with the credentials of AWS.',
    examples: ['operations-bridge tokens list', 'operations-bridge tokens list --local'],
  },
  [create, list, revoke],
);

/** The hash belongs to the table, and is of no use outside of it. */
function shownRecord(record: TokenRecord): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== 'hash'));
}
