/** Shows one compute: its state and since when, the last changes of it, and what the visitor can do with it. */

import { html } from 'hono/html';
import type { ComputeRecord } from '../../../../../shared/core/records/compute-record.ts';
import type { Clock } from '../../../../../shared/runtime/clock.ts';
import { eventsOf } from '../../../read-model/feed-event.ts';
import { empty, facts, type Html } from '../../html/markup.ts';
import { branchPath, endpointActionPath, operationPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { eventTable } from '../../html/record/event-table.ts';
import { projectCrumbs } from '../../html/record/project-link.ts';
import { type PageTime, timeAndAge } from '../../html/time/times.ts';
import type { RefusalDeps } from '../../session/visitor-traces.ts';
import { type BuildPage, messagePage, NOTHING_HERE, pageTimeOf } from '../page.ts';
import { checkReading } from '../permission.ts';
import { type Compute, type RouteDeps, readComputes } from '../upstream-view.ts';
import { ACTION_NAMES, actionsFor, type EndpointAction, suitsState } from './endpoint-actions.ts';

export interface ComputeDeps extends RefusalDeps, RouteDeps {
  readonly clock: Clock;
}

interface ComputeView {
  readonly accountId: string;
  readonly projectId: string;
  readonly endpointId: string;
  /** What the bridge has seen of it. It is undefined when the bridge has seen no change. */
  readonly record: ComputeRecord | undefined;
  /** What the upstream says of it now. It is undefined when the visitor must not ask, or it does not answer. */
  readonly present: Compute | undefined;
  readonly actions: readonly EndpointAction[];
  readonly name: string | undefined;
  readonly at: PageTime;
}

const NOT_KNOWN = messagePage(
  'Not known',
  'Neither the bridge nor the upstream shows this compute to you. The bridge keeps a compute for 400 days after its last change.',
  404,
);

export function buildCompute(deps: ComputeDeps): BuildPage {
  return async (c, visitor) => {
    const {
      account_id: accountId = '',
      project_id: projectId = '',
      endpoint_id: endpointId = '',
    } = c.req.param();
    if (!checkReading(deps, visitor, accountId, projectId)) return NOTHING_HERE;
    const { caller, model } = visitor;
    const [record, computes, name] = await Promise.all([
      model.compute(projectId, endpointId),
      readComputes(deps, caller, projectId),
      model.projectName(projectId),
    ]);
    const present = computes?.find(({ id }) => id === endpointId);
    if (record === undefined && present === undefined) return NOT_KNOWN;
    const at = pageTimeOf(c, deps.clock);
    const actions = actionsFor(deps, caller);
    const content = computePage({ accountId, projectId, endpointId, record, present, actions, name, at });
    return { title: endpointId, section: '/console/projects', about: projectId, content };
  };
}

function computePage(view: ComputeView): Html {
  const { accountId, projectId, endpointId, record, present, at } = view;
  const state = present?.state ?? record?.state ?? '';
  const branchId = present?.branchId ?? record?.branch_id;
  const operation = record?.state_operation;
  const names = new Map(view.name === undefined ? [] : [[projectId, view.name]]);
  return html`${projectCrumbs(accountId, projectId, view.name)}
<h1><span class="quiet">Compute</span> ${endpointId}</h1>
<p class="verdict">${badge(state)}</p>
${actionRow(view, state)}
${facts([
  ['In this state since', record?.state_since === undefined ? undefined : timeAndAge(record.state_since, at)],
  ['Kind', present?.type],
  [
    'Branch',
    branchId && html`<a class="id" href="${branchPath(accountId, projectId, branchId)}">${branchId}</a>`,
  ],
  [
    'Changed by',
    operation &&
      html`<a href="${operationPath(accountId, projectId, operation.operation_id)}">${operation.action}</a>`,
  ],
  ['Changes that were seen', record?.sequence],
])}
<h2>Last changes</h2>
${record === undefined || record.entries.length === 0 ? empty('The bridge has seen no change of this compute.') : eventTable({ accountId, names }, eventsOf(record).toReversed(), at)}`;
}

function actionRow({ accountId, projectId, endpointId, actions }: ComputeView, state: string): Html | '' {
  const offered = actions.filter((action) => suitsState(action, state));
  if (offered.length === 0) return '';
  return html`<p class="row">${offered.map((action) => html`<a class="button" href="${endpointActionPath(accountId, projectId, { endpointId, action })}">${ACTION_NAMES[action]}</a>`)}</p>`;
}
