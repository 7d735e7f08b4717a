/** Reads and shows the operations of a project: on an axis of time, and as a table with filters. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { isOpen, type OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import type { Page } from '../../../read-model/page-cursor.ts';
import type { OperationReader } from '../../../read-model/read-model.ts';
import { isChosenOperation, type OperationFilter } from '../../deciding/operation-filter.ts';
import { timeline } from '../../html/chart/charts.ts';
import { empty, type Html } from '../../html/markup.ts';
import { operationPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { upstreamDuration } from '../../html/time/durations.ts';
import { type PageTime, timeAndAge } from '../../html/time/times.ts';
import { timeRangeFields, timeRangeOf } from '../time-range.ts';

/** One page of operations stays short enough to read, and the link below it leads to older ones. */
const OPERATIONS_PER_PAGE = 25;

/** A filter looks through at most this many pages at once, so that one that matches nothing needs 100 reads. */
const PAGES_AT_ONCE = 4;

export interface ProjectOperations extends Page<OperationRecord> {
  readonly filter: OperationFilter;
}

export async function readOperations(
  model: Pick<OperationReader, 'operations'>,
  projectId: string,
  c: Context,
): Promise<ProjectOperations> {
  const text = c.req.query('text')?.slice(0, 100).trim() || undefined;
  const filter = { text, ...timeRangeOf(c) };
  const items: OperationRecord[] = [];
  let next = c.req.query('cursor') || undefined;
  for (let page = 0; page < PAGES_AT_ONCE && items.length < OPERATIONS_PER_PAGE; page++) {
    const read = await model.operations(projectId, { limit: OPERATIONS_PER_PAGE, cursor: next });
    items.push(...read.items.filter((record) => isChosenOperation(record, filter)));
    next = read.next;
    if (next === undefined) break;
  }
  return { items, next, filter };
}

export function operationList(
  accountId: string,
  { items, next, filter }: ProjectOperations,
  at: PageTime,
): Html {
  const { text, from, until } = filter;
  const isFiltered = text !== undefined || from !== undefined || until !== undefined;
  const older = new URLSearchParams(
    Object.entries({ text, from, until, cursor: next }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    ),
  );
  return html`<form class="filter"><div><label for="text">Action, status, id or error</label><input id="text" name="text" value="${text ?? ''}" size="22" maxlength="100"></div>${timeRangeFields({ from, until }, at.zone)}<button>Show</button></form>
${items.length > 0 ? html`${timeline(accountId, items, at)}${tableOf(accountId, items, at)}` : empty(isFiltered ? 'No operation that was looked at matches.' : 'No operation of this project has been seen.')}
${next === undefined ? '' : html`<p><a class="button" href="?${older}">Older</a></p>`}`;
}

function tableOf(accountId: string, records: readonly OperationRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th><th>Took</th></tr></thead>
<tbody>${records.map(
    (record) => html`<tr>
<td><a href="${operationPath(accountId, record.project_id, record.operation_id)}">${record.action}</a></td>
<td>${badge(record.status)}${record.failures_count > 0 ? html` <span class="quiet">${record.failures_count} failed</span>` : ''}</td>
<td>${timeAndAge(record.created_at, at)}</td>
<td data-label="Took">${isOpen(record) ? html`<span class="quiet">open</span>` : upstreamDuration(Date.parse(record.updated_at) - Date.parse(record.created_at))}</td></tr>`,
  )}</tbody></table>`;
}
