/** Shows troubles as rows of one line: how grave, where, what, the error, and since when; a person can take one there. */

import { html } from 'hono/html';
import type { Caller } from '../../../../shared/callers/scopes.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { HeldBack } from '../../read-model/alerts.ts';
import {
  acknowledgePath,
  counted,
  type Html,
  mutesPath,
  operationPath,
  projectPath,
  stateBadge,
} from '../html/markup.ts';
import { type PageTime, shortAge, time } from '../html/times.ts';
import {
  CONCERNS,
  type Concern,
  concernOf,
  type HeldTrouble,
  latestError,
  type Trouble,
  type Troubles,
} from './troubles.ts';

export interface TroublePage {
  readonly accountId: string;
  readonly names: ReadonlyMap<string, string>;
  /** Rows of a page about one project do not name it. */
  readonly isOfProject?: boolean;
  readonly caller: Caller;
  readonly formKey: string;
  /** An acknowledgement leads back to this page. */
  readonly path: string;
  readonly at: PageTime;
}

interface Kind {
  readonly words: string;
  readonly tone: 'bad' | 'busy' | 'calm';
}

/** What the upstream does not end by itself is red, what may still end is amber, and what is young is grey. */
const KINDS: Readonly<Record<Trouble, Kind>> = {
  given_up: { words: 'given up', tone: 'bad' },
  repeated: { words: 'failed repeatedly', tone: 'bad' },
  stalled: { words: 'open unusually long', tone: 'busy' },
  lasting: { words: 'not recovered', tone: 'busy' },
  failing: { words: 'is retried', tone: 'calm' },
};

function troubleBadge(trouble: Trouble, isTaken = false): Html {
  const { words, tone } = KINDS[trouble];
  return stateBadge(isTaken ? 'accent' : tone, isTaken ? '◆' : '▲', words);
}

/** The overview has everything that a person should know of at once. The list of projects has the rest. */
const ROWS_MAX = 30;

/** What a person has acknowledged stands apart, because no other person needs to look at it. */
export function troubleSections(
  page: TroublePage,
  found: Troubles,
  more: (count: number) => Html | string = (count) => `${count} more`,
): Html {
  const of = (wanted: Concern) => found.troubles.filter((trouble) => concernOf(trouble) === wanted);
  const [grave, taken, healing] = [of('needs a person'), of('acknowledged'), of('failing')];
  const { settled } = found;
  const table = (groups: readonly HeldTrouble[]) => troubleTable(page, groups.slice(0, ROWS_MAX));
  return html`${grave.length === 0 ? '' : table(grave)}
${grave.length > ROWS_MAX ? html`<p>${more(grave.length - ROWS_MAX)}</p>` : ''}
${found.isWhole ? '' : html`<p class="quiet">More has failed than this page looks at. The pages of the projects have everything.</p>`}
${taken.length === 0 ? '' : html`<details id="taken"><summary>${counted(taken.length, 'trouble')} that a person has acknowledged</summary>${table(taken)}</details>`}
${healing.length === 0 ? '' : html`<details id="healing"><summary>${counted(healing.length, 'failure')} that the upstream is retrying</summary>${table(healing)}</details>`}
${settled.length === 0 ? '' : html`<details id="settled"><summary>${counted(settled.length, 'failure')} that a later success or a repeated command has settled</summary>${settledTable(page, settled.slice(0, ROWS_MAX))}</details>`}`;
}

/** A page about a part of a project opens on this. */
export function troubleVerdict({ troubles }: Troubles, isRead = true): Html {
  const worst = CONCERNS.find((concern) => troubles.some((trouble) => concernOf(trouble) === concern));
  const [tone, mark, words] =
    worst !== undefined
      ? VERDICTS[worst]
      : isRead
        ? (['good', '●', 'Nothing that was seen of it fails'] as const)
        : (['odd', '?', 'It is not read yet, so nothing can be said of it'] as const);
  return html`<p class="verdict"><span class="${tone}"><span aria-hidden="true">${mark}</span> ${words}</span></p>`;
}

const VERDICTS: Readonly<Record<Concern, readonly [tone: string, mark: string, words: string]>> = {
  'needs a person': ['bad', '▲', 'It needs a person'],
  acknowledged: ['accent', '◆', 'A person takes care of what fails'],
  failing: ['busy', '◐', 'Something has failed, and the upstream is retrying it'],
};

function troubleTable(page: TroublePage, groups: readonly HeldTrouble[]): Html {
  return html`<table class="stack dense"><thead><tr><th>What</th>${page.isOfProject ? '' : html`<th>Project</th>`}<th>Action</th><th class="wide">Error</th><th class="number">Failed</th><th>Last change</th>${mayAcknowledge(page) ? html`<th><span class="only-read">Take it</span></th>` : ''}</tr></thead>
<tbody>${groups.map((group) => rowOf(page, group))}</tbody></table>`;
}

function mayAcknowledge({ caller }: TroublePage): boolean {
  return caller.scopes.has('alerts:mute');
}

function rowOf(page: TroublePage, group: HeldTrouble): Html | '' {
  const { accountId, at } = page;
  const { project_id, action, trouble, operations, held_back } = group;
  const [latest] = operations;
  if (latest === undefined) return '';
  const failedCount = operations.reduce((sum, { failures_count }) => sum + failures_count, 0);
  const error = latestError(latest) ?? '';
  const taken = held_back.acknowledged;
  return html`<tr><td>${troubleBadge(trouble, taken !== undefined)}${mutedWords(held_back, at)}</td>
${page.isOfProject ? '' : html`<td>${projectName(page, project_id)}</td>`}
<td><a href="${operationPath(accountId, project_id, latest.operation_id)}">${action}</a>${operations.length > 1 ? html` <span class="quiet">+${operations.length - 1}</span>` : ''}</td>
<td class="wide" title="${error}">${error}</td>
<td class="number" data-label="Failed attempts">${failedCount === 0 ? '' : failedCount}</td>
<td>${shortAge(latest.updated_at, at)}</td>${mayAcknowledge(page) ? html`<td>${taken !== undefined ? html`<span class="quiet">by ${taken.client_id}</span>` : concernOf(group) === 'needs a person' ? acknowledgeForm(page, held_back, latest) : ''}</td>` : ''}</tr>`;
}

function projectName({ accountId, names }: TroublePage, projectId: string): Html {
  return html`<a href="${projectPath(accountId, projectId)}" title="${projectId}">${names.get(projectId) ?? projectId}</a>`;
}

/** The form names an operation, because no incident is known yet of what failed before the bridge watched. */
export function acknowledgeForm(
  { formKey, path }: Pick<TroublePage, 'formKey' | 'path'>,
  { incident_id }: HeldBack,
  { project_id, operation_id, action }: OperationRecord,
): Html {
  const fields = { form_key: formKey, back: path, project_id, operation_id };
  return html`<form method="post" action="${acknowledgePath(incident_id)}">${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button title="Acknowledge ${action}">Acknowledge</button></form>`;
}

function mutedWords({ mute }: HeldBack, at: PageTime): Html | '' {
  return mute === undefined
    ? ''
    : html` <a class="quiet" href="${mutesPath({})}">muted until ${time(mute.until, at)}</a>`;
}

function settledTable(page: TroublePage, settled: Troubles['settled']): Html {
  const { accountId, at } = page;
  return html`<table class="stack dense"><thead><tr><th>Failed</th>${page.isOfProject ? '' : html`<th>Project</th>`}<th>Settled by</th></tr></thead>
<tbody>${settled.map(
    ({ failed: { project_id, operation_id, action }, by }) =>
      html`<tr><td><a href="${operationPath(accountId, project_id, operation_id)}">${action}</a></td>${page.isOfProject ? '' : html`<td>${projectName(page, project_id)}</td>`}<td><a href="${operationPath(accountId, project_id, by.operation_id)}">${settledWords(by)}</a> <span class="quiet">${shortAge(by.updated_at, at)}</span></td></tr>`,
  )}</tbody></table>`;
}

export function settledWords({ status, command }: Troubles['settled'][number]['by']): string {
  if (status === 'finished')
    return command === undefined ? 'a later success' : `a success that ${command.client_id} asked for`;
  return `a command of ${command?.client_id ?? 'a caller'} (${status})`;
}
