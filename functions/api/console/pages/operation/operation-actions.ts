/** Shows what a person can do about an operation: repeat it, take care of it, silence it, and hand its facts to the upstream's support. */

import { html } from 'hono/html';
import { isOpen, type OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import { supportText } from '../../deciding/operation-story.ts';
import { troubleOf } from '../../deciding/troubles.ts';
import type { Html } from '../../html/markup.ts';
import { acknowledgePath, endpointActionPath, mutesPath, operationPath } from '../../html/paths.ts';
import type { EndpointAction } from '../project/endpoint-actions.ts';
import type { OperationView } from './operation-view.ts';

/** These operations do what a call of the console asks for. Others need values that the bridge does not keep. */
const REPEATED_BY: Readonly<Record<string, EndpointAction>> = {
  start_compute: 'start',
  suspend_compute: 'suspend',
};

export function operationActions(view: OperationView): Html {
  const { record } = view;
  return html`<div class="row">${repeatLink(view)}${acknowledgeForm(view)}${muteLink(view)}${view.upstreamPage === undefined ? '' : html`<a class="button" href="${view.upstreamPage}" rel="noreferrer">Open at the upstream</a>`}<button type="button" data-copy="support" hidden>Copy for support</button></div>
<details id="support-text"><summary>The text for support</summary><pre id="support" tabindex="0">${supportText(record)}</pre></details>`;
}

function repeatLink({ record, actions }: OperationView): Html | '' {
  const { account_id, project_id, endpoint_id } = record;
  const action = repeatingAction(record);
  if (action === undefined || endpoint_id === undefined || !actions.includes(action)) return '';
  const path = endpointActionPath(account_id, project_id, { endpointId: endpoint_id, action });
  return html`<a class="button${isGivenUp(record) ? html` do` : ''}" href="${path}">Repeat</a>`;
}

/** Repeating is what helps only when the upstream will not try it again. What has ended well can be repeated, too. */
function isGivenUp(record: OperationRecord): boolean {
  return troubleOf(record, Date.parse(record.updated_at)) === 'given_up';
}

/** Offered while the operation itself is in trouble and no person has taken the incident. */
function acknowledgeForm({ record, held, mayMute, formKey, at }: OperationView): Html | '' {
  const incidentId = held?.unacknowledged_incident;
  if (!mayMute || incidentId === undefined || troubleOf(record, at.nowMs) === undefined) return '';
  const back = operationPath(record.account_id, record.project_id, record.operation_id);
  return html`<form method="post" action="${acknowledgePath(incidentId)}"><input type="hidden" name="form_key" value="${formKey}"><input type="hidden" name="back" value="${back}"><button>Acknowledge</button></form>`;
}

/** The page of mutes asks until when, and why. */
function muteLink({ record, mayMute }: OperationView): Html | '' {
  if (!mayMute || record.failures_count === 0) return '';
  const path = mutesPath({ projectId: record.project_id, action: record.action });
  return html`<a class="button" href="${path}">Mute</a>`;
}

/** An operation that is under way needs no repetition. */
function repeatingAction(record: OperationRecord): EndpointAction | undefined {
  const isUnderWay = isOpen(record) && record.status !== 'failed';
  return isUnderWay ? undefined : REPEATED_BY[record.action];
}
