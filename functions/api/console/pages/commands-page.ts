/** Lists commands: those that wait or are under way, and those that have ended lately. */

import { html } from 'hono/html';
import { maySee } from '../../../../shared/callers/scopes.ts';
import type { CommandRecord } from '../../../../shared/records/command-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import { commandPath, empty, filterFold, type Html } from '../html/markup.ts';
import { badge, projectLink } from '../html/records.ts';
import {
  type PageTime,
  rangeWords,
  type TimeRange,
  time,
  timeAndAge,
  timeRangeFields,
  timeRangeOf,
} from '../html/times.ts';
import type { RefusalDeps, Visitor } from '../sign-in/visitor.ts';
import { commandState } from './command-page.ts';
import { freezeNotice, readFreeze } from './freeze-page.ts';
import { type BuildPage, checkReading, pageTimeOf, READING_REFUSED } from './page.ts';
import type { RouteDeps } from './visitor-calls.ts';

export interface CommandsDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

/** The page shows at most this many commands of each source, and says so. The audit has all of them. */
const COMMANDS_MAX = 50;

interface CommandRow {
  readonly requestId: string;
  readonly projectId: string;
  readonly call: string;
  readonly clientId: string;
  readonly state: string;
  /** The command was accepted or sent at this time. */
  readonly since: string;
}

export function buildCommands(deps: CommandsDeps): BuildPage {
  return async (c, visitor) => {
    const { caller, model } = visitor;
    if (!checkReading(deps, visitor, caller.account_id)) return READING_REFUSED;
    const text = (c.req.query('text') ?? '').slice(0, 100).trim();
    const [{ rows, backTo, isLineWhole }, names, freeze] = await Promise.all([
      readCommands(visitor),
      model.projectNames(),
      readFreeze(deps, caller),
    ]);
    const range = timeRangeOf(c);
    const shown = rows.filter((row) => hasText(row, names, text) && isWithin(row, range));
    const at = pageTimeOf(c, deps.clock);
    const chosen = [text, ...rangeWords(range, at.zone)];
    const mayAudit = caller.scopes.has('audit:read');
    const content = html`<h1>Commands</h1>
${freezeNotice(model.accountId, freeze)}
<p class="quiet">What was sent through this bridge and started operations, newest first.${mayAudit ? html` The <a href="/console/audit">audit</a> has everything that was asked for.` : ''}</p>
${filterFold(chosen, filterForm(text, range, at))}
${shown.length === 0 ? empty(chosen.every((each) => each === '') ? 'No command was sent lately.' : 'No command matches.') : commandTable(model.accountId, shown, { names, at })}
${isLineWhole ? '' : html`<p class="quiet">Of the commands that were put in line, only the latest ${COMMANDS_MAX} were looked at.</p>`}
${backTo === undefined ? '' : html`<p class="quiet">Commands that ended before ${time(backTo, at)} are not shown.</p>`}`;
    return { title: 'Commands', about: '*', content };
  };
}

async function readCommands({ caller, model }: Visitor): Promise<{
  readonly rows: readonly CommandRow[];
  readonly backTo: string | undefined;
  readonly isLineWhole: boolean;
}> {
  const [queued, work, changes] = await Promise.all([
    model.queuedCommands({ limit: COMMANDS_MAX }),
    model.workAtHand(),
    model.changes(),
  ]);
  const visible = changes.records.filter(
    ({ kind, projectId }) => kind === 'command' && maySee(caller, projectId),
  );
  const changed = visible.slice(0, COMMANDS_MAX);
  const backTo = visible.length > COMMANDS_MAX ? changed.at(-1)?.changed_at : changes.back_to;
  const settled = await readRecords(model, changed);
  const rows = new Map<string, CommandRow>();
  for (const record of [...settled, ...work.commands]) rows.set(record.request_id, rowOfRecord(record));
  for (const { command_id, project_id, call, client_id, state, accepted_at } of queued.items) {
    const shown = state === 'running' ? (rows.get(command_id)?.state ?? state) : state;
    const ids = { requestId: command_id, projectId: project_id, clientId: client_id };
    rows.set(command_id, { ...ids, call, state: shown, since: accepted_at });
  }
  const shown = [...rows.values()].filter(({ projectId }) => maySee(caller, projectId));
  return {
    rows: shown.toSorted((a, b) => b.since.localeCompare(a.since)),
    backTo,
    isLineWhole: queued.next === undefined,
  };
}

async function readRecords(
  model: ReadModel,
  changed: readonly { readonly projectId: string; readonly id: string }[],
): Promise<readonly CommandRecord[]> {
  const found = await Promise.all(
    changed.map(({ projectId, id }) => unlessUnreadable(model.command(projectId, id))),
  );
  return found.flatMap((record) => record ?? []);
}

function rowOfRecord(record: CommandRecord): CommandRow {
  const { request_id: requestId, project_id: projectId, client_id: clientId, call, sent_at } = record;
  return { requestId, projectId, clientId, call, state: commandState(record), since: sent_at };
}

function hasText(row: CommandRow, names: ReadonlyMap<string, string>, text: string): boolean {
  const wanted = text.toLowerCase();
  return [
    row.requestId,
    row.projectId,
    names.get(row.projectId) ?? '',
    row.call,
    row.clientId,
    row.state,
  ].some((value) => value.toLowerCase().includes(wanted));
}

/** A command of the first or of the last moment of the range is within it. */
function isWithin({ since }: CommandRow, { from, until }: TimeRange): boolean {
  const sinceMs = Date.parse(since);
  return (
    (from === undefined || sinceMs >= Date.parse(from)) &&
    (until === undefined || sinceMs <= Date.parse(until))
  );
}

function filterForm(text: string, range: TimeRange, { zone }: PageTime): Html {
  return html`<form class="filter" action="/console/commands"><div><label for="text">Command, project, caller or state</label><input id="text" name="text" value="${text}" size="24" maxlength="100"></div>${timeRangeFields(range, zone)}<button>Show</button></form>`;
}

function commandTable(
  accountId: string,
  rows: readonly CommandRow[],
  { names, at }: { readonly names: ReadonlyMap<string, string>; readonly at: PageTime },
): Html {
  return html`<table class="stack"><thead><tr><th>Command</th><th>State</th><th>Project</th><th>Sent by</th><th>When</th></tr></thead>
<tbody>${rows.map(
    ({ requestId, projectId, call, clientId, state, since }) => html`<tr>
<td><a href="${commandPath(accountId, projectId, requestId)}">${call}</a></td>
<td>${badge(state)}</td><td>${projectLink(accountId, projectId, names)}</td><td data-label="Sent by">${clientId}</td>
<td>${timeAndAge(since, at)}</td></tr>`,
  )}</tbody></table>`;
}
