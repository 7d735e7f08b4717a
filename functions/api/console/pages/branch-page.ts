/** Shows one branch: whether it can be used, the operations that created it, and its computes. */

import { html } from 'hono/html';
import type { BranchRecord, ComputeRecord, Readiness } from '../../../../shared/records/journal-record.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { ReadModel } from '../../read-model/read-model.ts';
import { branchPath, computePath, empty, facts, type Html, operationPath } from '../html/markup.ts';
import { badge, projectCrumbs } from '../html/records.ts';
import { age, type PageTime, time, upstreamDuration } from '../html/times.ts';
import { formKey } from '../sign-in/session.ts';
import type { RefusalDeps } from '../sign-in/visitor.ts';
import { type BuildPage, checkReading, messagePage, NOTHING_HERE, pageTimeOf } from './page.ts';
import {
  type ProjectTroubles,
  readProjectTroubles,
  type TroublePage,
  troubleSections,
  troubleVerdict,
} from './troubles.ts';

export interface BranchDeps extends RefusalDeps {
  readonly clock: Clock;
}

const NOT_SEEN = messagePage(
  'Not seen',
  'The bridge has not seen the creation of this branch. It knows branches that were created while it watched their project, for 400 days.',
  404,
);

export function buildBranch(deps: BranchDeps): BuildPage {
  return async (c, visitor) => {
    const { account_id: accountId = '', project_id = '', branch_id = '' } = c.req.param();
    if (!checkReading(deps, visitor, accountId, project_id)) return NOTHING_HERE;
    const branch = await visitor.model.branch(project_id, branch_id);
    if (branch === undefined) return NOT_SEEN;
    const { model, caller, session, pepper } = visitor;
    const [view, at] = [await readView(model, branch), pageTimeOf(c, deps.clock)];
    const isAbout = (record: OperationRecord) => record.branch_id === branch_id;
    const asked = { nowMs: at.nowMs, isAbout, seen: view.operations };
    const page = {
      accountId,
      names: new Map(),
      isOfProject: true,
      caller,
      formKey: formKey(session, pepper),
      path: branchPath(accountId, project_id, branch_id),
      found: await readProjectTroubles(visitor, project_id, asked),
      at,
    };
    return {
      title: branch_id,
      section: '/console/projects',
      about: branch_id,
      content: branchPage({ ...view, ...page }),
    };
  };
}

interface BranchView extends TroublePage {
  readonly found: ProjectTroubles;
  readonly branch: BranchRecord;
  readonly operations: readonly OperationRecord[];
  /** The computes that the creation started, as far as they are known. */
  readonly computes: readonly ComputeRecord[];
  readonly name: string | undefined;
}

async function readView(
  model: ReadModel,
  branch: BranchRecord,
): Promise<Pick<BranchView, 'branch' | 'operations' | 'computes' | 'name'>> {
  const { project_id, operation_ids } = branch;
  const found = await Promise.all(
    operation_ids.map((id) => unlessUnreadable(model.operation(project_id, id))),
  );
  const operations = found.flatMap((operation) => operation ?? []);
  const endpointIds = new Set(operations.flatMap(({ endpoint_id }) => endpoint_id ?? []));
  const computes = await Promise.all(
    [...endpointIds].map((id) => unlessUnreadable(model.compute(project_id, id))),
  );
  const name = await model.projectName(project_id);
  return { branch, operations, computes: computes.flatMap((compute) => compute ?? []), name };
}

const MEANINGS: Readonly<Record<Readiness, string>> = {
  pending: 'It cannot be used yet: an operation of its creation has not ended.',
  ready: 'It can be used.',
  failed: 'It did not become ready: an operation of its creation came to nothing.',
};

function branchPage(view: BranchView): Html {
  const { branch, operations, computes, name, found, at } = view;
  const { account_id, project_id, branch_id, readiness, began_at, command } = branch;
  const decided = branch.entries.at(-1);
  return html`${projectCrumbs(account_id, project_id, name)}
<h1><span class="quiet">Branch</span> ${branch_id}</h1>
<p class="verdict">${badge(readiness)} <span>${MEANINGS[readiness]}</span></p>
${found.troubles.length === 0 ? '' : troubleVerdict(found)}
${troubleSections(view, found)}
${facts([
  ['Created', html`${time(began_at, at)} <span class="quiet">${age(began_at, at)}</span>`],
  ['Took', decided?.duration_ms === undefined ? undefined : upstreamDuration(decided.duration_ms)],
  [
    'Created by',
    command === undefined
      ? html`<span class="quiet">It was not created through this bridge.</span>`
      : html`${command.client_id} <span class="quiet id">${command.request_id}</span>`,
  ],
])}
<h2>Operations of its creation</h2>
${operations.length === 0 ? empty('None is recorded: they had ended before the bridge came, or 200 days ago.') : operationTable(account_id, operations, at)}
<h2>Computes</h2>
${computes.length === 0 ? empty('No compute was started with it, or its state is not known yet.') : computeTable(computes, at)}`;
}

function operationTable(accountId: string, operations: readonly OperationRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Operation</th><th>Status</th><th>Created</th></tr></thead>
<tbody>${operations.map(
    ({ project_id, operation_id, action, status, created_at }) => html`<tr>
<td><a href="${operationPath(accountId, project_id, operation_id)}">${action}</a></td><td>${badge(status)}</td><td>${time(created_at, at)}</td></tr>`,
  )}</tbody></table>`;
}

function computeTable(computes: readonly ComputeRecord[], at: PageTime): Html {
  return html`<table class="stack"><thead><tr><th>Compute</th><th>State</th><th>Since</th></tr></thead>
<tbody>${computes.map(
    ({ account_id, project_id, endpoint_id, state, state_since }) => html`<tr>
<td><a class="id" href="${computePath(account_id, project_id, endpoint_id)}">${endpoint_id}</a></td><td>${badge(state)}</td>
<td>${state_since === undefined ? '' : html`${time(state_since, at)} <span class="quiet">${age(state_since, at)}</span>`}</td></tr>`,
  )}</tbody></table>`;
}
