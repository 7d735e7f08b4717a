/** Shows one command: who sent it, what it has started, and how far that is. After an action, people see this page. */

import { html } from 'hono/html';
import type { CallbackView } from '../../../../shared/commands/callbacks.ts';
import type { CommandRecord } from '../../../../shared/records/command-record.ts';
import { isOpen, type OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { empty, facts, type Html, operationPath } from '../html/markup.ts';
import { badge, projectCrumbs } from '../html/records.ts';
import { type PageTime, timeAndAge, timeAndRest } from '../html/times.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import { type BuildPage, checkReading, messagePage, NOTHING_HERE, pageTimeOf } from './page.ts';
import { type RouteDeps, readBridge } from './visitor-calls.ts';

export interface CommandDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

/** This is what the route of queued commands answers, as far as the page shows it. */
interface QueuedView {
  readonly project_id: string;
  readonly call: string;
  readonly client_id: string;
  readonly state: string;
  readonly reason?: string;
  readonly accepted_at: string;
  readonly deadline_at: string;
  readonly left_line_at?: string;
  readonly commands_before?: number;
  readonly waiting_for?: readonly string[];
}

interface CommandView {
  readonly accountId: string;
  readonly projectId: string;
  readonly requestId: string;
  readonly name: string | undefined;
  /** It is undefined until the command has started operations or has ended. */
  readonly record: CommandRecord | undefined;
  /** It is undefined for a command that did not wait in line, and a day after its end. */
  readonly queued: QueuedView | undefined;
  readonly operations: readonly OperationRecord[];
  /** It is undefined when no workflow waits for the command. */
  readonly callback: CallbackView | undefined;
  readonly mayAudit: boolean;
  readonly at: PageTime;
}

const NOT_KNOWN = messagePage(
  'Not known',
  'No command with this id has started operations in this project. One that was refused, or did nothing that takes time, stands in the audit.',
  404,
);

export function buildCommand(deps: CommandDeps): BuildPage {
  return async (c, visitor) => {
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      request_id: requestId = '',
    } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const read = await readCommand(deps, visitor, projectId, requestId);
    if (read.record === undefined && read.queued === undefined) return NOT_KNOWN;
    const mayAudit = visitor.caller.scopes.has('audit:read');
    const at = pageTimeOf(c, deps.clock);
    const view = { accountId, projectId, requestId, mayAudit, at, ...read };
    return {
      title: `Command ${callOf(view)}`,
      section: '/console/commands',
      // No event tells of a decision, nor of a place in the line.
      about: read.record === undefined && isUnderWay(read.queued?.state ?? '') ? 'time' : projectId,
      content: commandPage(view),
    };
  };
}

async function readCommand(
  deps: CommandDeps,
  { caller, model }: Visitor,
  projectId: string,
  requestId: string,
): Promise<Pick<CommandView, 'record' | 'queued' | 'operations' | 'name' | 'callback'>> {
  const [record, answer, name, callback] = await Promise.all([
    unlessUnreadable(model.command(projectId, requestId)),
    readBridge(deps, 'getQueuedCommand', { caller, ids: { command_id: requestId } }),
    model.projectName(projectId),
    model.callback(requestId),
  ]);
  const queued = (answer as { command?: QueuedView } | undefined)?.command;
  const found = await Promise.all(
    (record?.operation_ids ?? []).map((id) => unlessUnreadable(model.operation(projectId, id))),
  );
  const operations = found.flatMap((operation) => operation ?? []);
  const own = queued?.project_id === projectId ? queued : undefined;
  return { record, queued: own, operations, name, callback };
}

function callOf({ record, queued }: CommandView): string {
  return record?.call ?? queued?.call ?? '';
}

function commandPage(view: CommandView): Html {
  const { accountId, projectId, requestId, record, queued, operations, at } = view;
  const state = queued?.state ?? commandState(record);
  const clientId = record?.client_id ?? queued?.client_id ?? '';
  const ended = operations.filter((operation) => !isOpen(operation)).length;
  return html`${projectCrumbs(accountId, projectId, view.name)}
<h1><span class="quiet">Command</span> ${callOf(view)}</h1>
<p class="verdict">${badge(state)} <span>${progressOf(state, { ended, all: record?.operation_ids.length ?? 0 })}</span></p>
${queued?.reason === undefined ? '' : html`<p class="notice bad">${queued.reason}</p>`}
${facts([
  ['Sent by', clientId],
  ['Accepted', queued && timeAndAge(queued.accepted_at, at)],
  ['Sent', record && record.operation_ids.length > 0 ? timeAndAge(record.sent_at, at) : undefined],
  ['Commands before it', queued?.commands_before],
  ['Is not sent after', queued && isUnderWay(queued.state) ? timeAndRest(queued.deadline_at, at) : undefined],
  ['Command', html`<span class="id">${requestId}</span>`],
  ['Waiting workflow', view.callback && callbackText(view.callback)],
  ['Audit', auditLink(view, clientId)],
])}
<h2>Operations that it has started</h2>
${operations.length === 0 ? empty('None is known yet.') : operationTable(accountId, operations, at)}`;
}

const CALLBACK_TEXTS: Readonly<Record<CallbackView['state'], string>> = {
  waiting: 'It has not been told the end',
  delivered: 'It was told the end',
  task_gone: 'Its task had ended, or there is none',
  given_up: 'It was not told the end, and will not be',
};

function callbackText({ state, trouble }: CallbackView): string {
  return trouble === undefined ? CALLBACK_TEXTS[state] : `${CALLBACK_TEXTS[state]} (${trouble})`;
}

function progressOf(state: string, { ended, all }: { readonly ended: number; readonly all: number }): string {
  if (state === 'awaiting_approval') return 'It waits for a person.';
  if (state === 'queued') return 'It waits for its turn.';
  if (all === 0) return isUnderWay(state) ? 'It is being sent.' : 'It has ended.';
  return isUnderWay(state)
    ? `${ended} of ${all} operations have ended. This page shows each change.`
    : 'It has ended.';
}

function auditLink({ mayAudit, projectId }: CommandView, clientId: string): Html | undefined {
  if (!mayAudit) return undefined;
  const query = new URLSearchParams({ client_id: clientId, project_id: projectId });
  return html`<a href="/console/audit?${query}">What ${clientId} did here</a>`;
}

function operationTable(accountId: string, operations: readonly OperationRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th><th>Last change</th></tr></thead>
<tbody>${operations.map(
    ({ project_id, operation_id, action, status, failures_count, created_at, updated_at }) => html`<tr>
<td><a href="${operationPath(accountId, project_id, operation_id)}">${action}</a></td>
<td>${badge(status)}${failures_count > 0 ? html` <span class="quiet">${failures_count} failed</span>` : ''}</td>
<td data-label="Created">${timeAndAge(created_at, at)}</td><td data-label="Last change">${timeAndAge(updated_at, at)}</td></tr>`,
  )}</tbody></table>`;
}

/** A command without a record has not started anything yet. */
export function commandState(record: CommandRecord | undefined): string {
  if (record === undefined) return 'sent';
  if (!record.is_settled) return 'running';
  const settled = record.entries.findLast(({ type }) => type === 'command_settled');
  return settled?.outcome ?? 'unknown';
}

const UNDER_WAY: ReadonlySet<string> = new Set(['awaiting_approval', 'queued', 'sent', 'running']);

function isUnderWay(state: string): boolean {
  return UNDER_WAY.has(state);
}
