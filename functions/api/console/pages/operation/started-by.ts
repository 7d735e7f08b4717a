/** Shows who started an operation: the client whose command it was, or that it was not started through this bridge. */

import { html } from 'hono/html';
import { facts, type Html } from '../../html/markup.ts';
import { commandPath, operationPath } from '../../html/paths.ts';
import { time } from '../../html/time/times.ts';
import type { OperationView } from './operation-view.ts';

export function startedBy({ record, command }: OperationView): Html {
  const { account_id, project_id, command: origin } = record;
  if (origin === undefined) return html`<span class="quiet">It was not started through this bridge.</span>`;
  return html`${origin.client_id}${command === undefined ? '' : html` (${command.call})`} <a class="id" href="${commandPath(account_id, project_id, origin.request_id)}">${origin.request_id}</a>`;
}

export function commandFacts({ record, command, mayAudit, at }: OperationView): Html | '' {
  if (command === undefined) return '';
  const { account_id, project_id, client_id, request_id, call, sent_at, operation_ids, is_settled } = command;
  const others = operation_ids.filter((id) => id !== record.operation_id);
  return html`<h2>The command that started it</h2>
${facts([
  ['Sent by', client_id],
  ['Call', call],
  ['When', time(sent_at, at)],
  ['Settled', is_settled ? 'yes' : 'not yet'],
  [
    'Command',
    html`<a class="id" href="${commandPath(account_id, project_id, request_id)}">${request_id}</a>`,
  ],
  [
    'Audit',
    mayAudit
      ? html`<a href="/console/audit?client_id=${encodeURIComponent(client_id)}&amp;project_id=${encodeURIComponent(project_id)}">What ${client_id} did here</a>`
      : undefined,
  ],
])}
${others.length === 0 ? '' : html`<p>It has also started:</p><ul class="plain">${others.map((id) => html`<li><a class="id" href="${operationPath(account_id, project_id, id)}">${id}</a></li>`)}</ul>`}`;
}
