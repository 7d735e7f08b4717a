/** Shows the audit as a table. Its filters stand in the address of the page. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { AUDIT_OUTCOMES } from '../../../../shared/commands/audit.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { type AuditFilter, auditQuery, readAudit } from '../../bridge/audit-routes.ts';
import type { AuditPage, AuditRecord } from '../../read-model/audit-reader.ts';
import { empty, filterFold, type Html, operationPath } from '../html/markup.ts';
import { projectLink } from '../html/records.ts';
import { duration, type PageTime, rangeWords, time, timeRangeFields, timeRangeOf } from '../html/times.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import { type BuildPage, checkScope, messagePage, pageTimeOf } from './page.ts';

const FILTERS = ['client_id', 'call', 'project_id', 'outcome', 'from', 'until'] as const;

type ShownFilter = AuditFilter & { readonly text: string | undefined };

export interface AuditDeps extends RefusalDeps {
  readonly clock: Clock;
}

export function buildAudit(deps: AuditDeps): BuildPage {
  return async (c, visitor) => {
    if (!checkScope(deps, visitor, 'audit:read', 'consoleAudit'))
      return messagePage('No access', 'Your token needs the scope audit:read.', 403);
    const { caller, model } = visitor;
    const query = auditQueryOf(c);
    const text = c.req.query('text')?.slice(0, 100).trim() || undefined;
    const [page, names] = await Promise.all([
      readAudit(model.audit, caller, { ...query, text }),
      model.projectNames(),
    ]);
    return {
      title: 'Audit',
      about: 'time',
      content: auditPage({
        accountId: model.accountId,
        names,
        filter: { ...query, text },
        page,
        at: pageTimeOf(c, deps.clock),
      }),
    };
  };
}

/** Reads the filters of the address, and ignores those that cannot be read. */
function auditQueryOf(c: Context) {
  const value = (field: string) => c.req.query(field)?.slice(0, 100).trim() || undefined;
  const asked = Object.entries({
    ...Object.fromEntries(FILTERS.map((field) => [field, value(field)])),
    ...timeRangeOf(c),
  });
  const known = asked.filter(([field, text]) => auditQuery.safeParse({ [field]: text }).success);
  return auditQuery.parse({
    ...Object.fromEntries(known),
    limit: 50,
    cursor: c.req.query('cursor') || undefined,
  });
}

function auditPage(view: {
  readonly accountId: string;
  readonly names: ReadonlyMap<string, string>;
  readonly filter: ShownFilter;
  readonly page: AuditPage;
  readonly at: PageTime;
}): Html {
  const { filter, page, at } = view;
  const { items, next, unreadable } = page;
  return html`<h1>Audit</h1>
<p class="quiet">The audit keeps for 400 days who asked for what and how it ended: commands, sign-ins, and reads that showed secrets.</p>
${filterFold(chosenIn(filter, at.zone), filterForm(filter, at.zone))}
${unreadable === 0 ? '' : html`<p class="verdict" role="status">${unreadable} records on this page cannot be read and are left out.</p>`}
${items.length === 0 ? empty(next === undefined ? 'No record matches.' : 'No record on this page matches. The next page may have older ones.') : rowsOf(view, items, at)}
${next === undefined ? '' : html`<p><a class="button" href="?${[queryOf(filter), `cursor=${encodeURIComponent(next)}`].filter(Boolean).join('&')}">Older</a></p>`}`;
}

interface Account {
  readonly accountId: string;
  readonly names: ReadonlyMap<string, string>;
}

function rowsOf(account: Account, records: readonly AuditRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>When</th><th>Who</th><th>What</th><th>Where</th><th>Outcome</th></tr></thead>
<tbody>${records.map(
    (record) => html`<tr>
<td>${time(record.received_at, at)}</td>
<td>${record.email === undefined ? '' : html`${record.email}<br>`}${record.client_id}</td>
<td>${record.call}<br><code class="quiet">${record.request_id}</code></td>
<td>${whereOf(account, record)}</td>
<td>${outcomeOf(record)}</td></tr>`,
  )}</tbody></table>`;
}

function whereOf(
  { accountId, names }: Account,
  { project_id: projectId, resource, operation_ids: ids = [] }: AuditRecord,
): Html {
  const project =
    projectId === undefined
      ? html`<span class="quiet">the account</span>`
      : projectLink(accountId, projectId, names);
  const things = Object.values(resource).map((id) => html`<br><span class="id">${id}</span>`);
  const operations = ids.map(
    (id) => html`<br><a class="id" href="${operationPath(accountId, projectId ?? '', id)}">${id}</a>`,
  );
  return html`${project}${things}${projectId === undefined ? '' : operations}`;
}

function outcomeOf({ outcome, status, problem, duration_ms: durationMs }: AuditRecord): Html {
  if (outcome === undefined) return html`<span class="quiet">open</span>`;
  const details = [status, problem, durationMs === undefined ? undefined : duration(durationMs)];
  return html`${outcome} <span class="quiet">${details.filter((each) => each !== undefined).join(', ')}</span>`;
}

function chosenIn({ client_id, call, project_id, outcome, text, ...range }: ShownFilter, zone: string) {
  const { from, until } = range;
  return [client_id, call, project_id, outcome, text, ...rangeWords({ from, until }, zone)];
}

function filterForm(filter: ShownFilter, zone: string): Html {
  const field = (name: 'client_id' | 'call' | 'project_id', label: string) =>
    html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${filter[name] ?? ''}" size="18"></div>`;
  return html`<form class="filter" method="get" action="/console/audit">
${field('client_id', 'Caller')}
${field('call', 'Call')}
${field('project_id', 'Project')}
<div><label for="outcome">Outcome</label><select id="outcome" name="outcome"><option value="">any</option>${AUDIT_OUTCOMES.map((each) => html`<option value="${each}"${each === filter.outcome ? html` selected` : ''}>${each}</option>`)}</select></div>
<div><label for="text">Text</label><input id="text" name="text" value="${filter.text ?? ''}" size="18" maxlength="100"></div>
${timeRangeFields({ from: filter.from, until: filter.until }, zone)}
<button>Show</button></form>`;
}

function queryOf(filter: ShownFilter): string {
  return [...FILTERS, 'text' as const]
    .flatMap((field) => {
      const value = filter[field];
      return value === undefined ? [] : [`${field}=${encodeURIComponent(value)}`];
    })
    .join('&');
}
