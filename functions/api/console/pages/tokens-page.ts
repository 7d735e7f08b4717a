/** Lists the tokens of an account: whose they are, what they may do, and until when. They are issued by the command. */

import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import type { ShownToken } from '../../read-model/read-model.ts';
import { empty, type Html, stateBadge } from '../html/markup.ts';
import { type PageTime, time, timeAndAge } from '../html/times.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import { type BuildPage, checkScope, messagePage, pageTimeOf } from './page.ts';

export interface TokensDeps extends RefusalDeps {
  readonly clock: Clock;
}

/** Each row takes one read of the table. */
const TOKENS_PER_PAGE = 50;

const NO_ACCESS = messagePage('No access', 'Your token needs the scope audit:read, for all projects.', 403);

/** Tokens concern all projects, so a visitor who is limited to some does not see them. */
function mayListTokens({ scopes, projectIds }: Caller): boolean {
  return scopes.has('audit:read') && projectIds === undefined;
}

export function buildTokens(deps: TokensDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model } = visitor;
    if (!checkScope(deps, visitor, 'audit:read', 'consoleTokens') || !mayListTokens(caller)) return NO_ACCESS;
    const text = (c.req.query('text') ?? '').slice(0, 100).trim();
    const { items, next } = await model.tokens({
      limit: TOKENS_PER_PAGE,
      cursor: c.req.query('cursor') || undefined,
    });
    const shown = items.filter((token) => hasText(token, text));
    const older = new URLSearchParams({ ...(text !== '' && { text }), cursor: next ?? '' });
    const content = html`<h1>Tokens</h1>
<p class="quiet">The command <code>operations-bridge tokens</code> issues and revokes them. The bridge stores no token, only a keyed hash of it.</p>
<form class="filter" action="/console/tokens"><div><label for="text">Client, scope or id</label><input id="text" name="text" value="${text}" size="24" maxlength="100"></div><button>Show</button></form>
${shown.length === 0 ? empty(next === undefined ? 'No token matches.' : 'No token on this page matches. The next page may have older ones.') : tokenTable(shown, pageTimeOf(c, deps.clock))}
${next === undefined ? '' : html`<p><a class="button" href="?${older}">Older</a></p>`}`;
    return { title: 'Tokens', about: 'time', content };
  };
}

function hasText({ client_id, token_id, scopes, project_ids = [] }: ShownToken, text: string): boolean {
  const wanted = text.toLowerCase();
  return [client_id, token_id, ...scopes, ...project_ids].some((value) =>
    value.toLowerCase().includes(wanted),
  );
}

function tokenTable(tokens: readonly ShownToken[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Client</th><th>State</th><th>Created</th><th>Ends</th><th>May do</th></tr></thead>
<tbody>${tokens.map(
    (token) => html`<tr><td>${token.client_id}<br><span class="id quiet">${token.token_id}</span></td>
<td>${stateOf(token, at)}</td>
<td data-label="Created">${timeAndAge(token.created_at, at)}</td>
<td data-label="Ends">${time(token.revoked_at ?? isoTimeOf(token.expires_at_ms), at)}</td>
<td>${mayDo(token)}</td></tr>`,
  )}</tbody></table>`;
}

function stateOf({ revoked_at, expires_at_ms }: ShownToken, { nowMs }: PageTime): Html {
  if (revoked_at !== undefined) return stateBadge('calm', '○', 'revoked');
  return expires_at_ms <= nowMs ? stateBadge('calm', '○', 'expired') : stateBadge('good', '●', 'valid');
}

function mayDo({ token_id, scopes, project_ids, approve = [] }: ShownToken): Html {
  const projects = project_ids === undefined ? 'all projects' : counted(project_ids.length, 'project');
  return html`<details id="token-${token_id}"><summary>${counted(scopes.length, 'scope')}, ${projects}</summary><p class="id">${scopes.join(' ')}</p>${project_ids === undefined ? '' : html`<p class="id">${project_ids.join(' ')}</p>`}${approve.length === 0 ? '' : html`<p>A person approves first:</p><p class="id">${approve.join(', ')}</p>`}</details>`;
}
