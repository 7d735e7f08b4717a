/** Shows operations in trouble as a table with one row for each project and action. */

import { html } from 'hono/html';
import type { HeldBack } from '../../../read-model/held-back.ts';
import type { HeldTrouble, Trouble } from '../../deciding/troubles.ts';
import type { Html } from '../../html/markup.ts';
import { mutesPath, operationPath } from '../../html/paths.ts';
import { projectLink } from '../../html/record/project-link.ts';
import { type PageTime, time, timeAndAge } from '../../html/time/times.ts';

const WORDS: Readonly<Record<Trouble, string>> = {
  given_up: 'given up',
  repeated: 'failed repeatedly',
  stalled: 'open for unusually long',
  lasting: 'failed, not recovered',
  failing: 'failed, is retried',
};

export function troubleTable(
  { accountId, names }: { readonly accountId: string; readonly names: ReadonlyMap<string, string> },
  groups: readonly HeldTrouble[],
  at: PageTime,
): Html {
  return html`<table class="stack"><thead><tr><th>What</th><th>Project</th><th>Action</th><th class="number">Failed</th><th>Last change</th></tr></thead>
<tbody>${groups.map((group) => rowOf(accountId, names, group, at))}</tbody></table>`;
}

function rowOf(
  accountId: string,
  names: ReadonlyMap<string, string>,
  { project_id, action, trouble, operations, held_back }: HeldTrouble,
  at: PageTime,
): Html | '' {
  const [latest] = operations;
  if (latest === undefined) return '';
  const failedCount = operations.reduce((sum, { failures_count }) => sum + failures_count, 0);
  const tone = trouble === 'failing' || held_back.acknowledged !== undefined ? 'busy' : 'bad';
  return html`<tr><td><span class="badge ${tone}"><span aria-hidden="true">▲</span> ${WORDS[trouble]}</span>${heldBackWords(held_back, at)}</td>
<td>${projectLink(accountId, project_id, names)}</td>
<td><a href="${operationPath(accountId, project_id, latest.operation_id)}">${action}</a>${operations.length > 1 ? html` <span class="quiet">and ${operations.length - 1} more</span>` : ''}</td>
<td class="number" data-label="Failed attempts">${failedCount === 0 ? '' : failedCount}</td>
<td>${timeAndAge(latest.updated_at, at)}</td></tr>`;
}

function heldBackWords({ mute, acknowledged }: HeldBack, at: PageTime): Html {
  return html`${mute === undefined ? '' : html`<br><a href="${mutesPath({})}">muted until ${time(mute.until, at)}</a>`}${acknowledged === undefined ? '' : html`<br><span class="quiet">acknowledged by ${acknowledged.client_id}</span>`}`;
}
