/** Shows which other projects had failures of the same action lately, because then the cause is probably the service. */

import { html } from 'hono/html';
import { empty, type Html } from '../../html/markup.ts';
import { operationPath } from '../../html/paths.ts';
import { badge } from '../../html/record/badge.ts';
import { projectLink } from '../../html/record/project-link.ts';
import { timeAndAge } from '../../html/time/times.ts';
import type { OperationView } from './operation-view.ts';

const SHOWN_MAX = 5;

/** From this many projects on, a cause within one project is unlikely. */
const SERVICE_PROJECTS = 3;

export function failedAlike({ record, alike, names, at }: OperationView): Html | '' {
  if (record.failures_count === 0) return '';
  const { account_id, action } = record;
  if (alike.length === 0)
    return html`<h2>Did others fail alike?</h2>${empty(`No other project had its last failure of the day with ${action}, so the cause is probably in this project.`)}`;
  const isService = alike.length >= SERVICE_PROJECTS;
  return html`<h2>Did others fail alike?</h2>
<p>${alike.length === 1 ? 'One other project' : `${alike.length} other projects`} failed with ${action} in the last 24 hours${isService ? ', so the cause is probably the service' : ''}.</p>
<ul class="plain">${alike.slice(0, SHOWN_MAX).map(({ project_id, operation_id, status, updated_at }) => html`<li>${projectLink(account_id, project_id, names)} <a href="${operationPath(account_id, project_id, operation_id)}">${badge(status)}</a> ${timeAndAge(updated_at, at)}</li>`)}</ul>`;
}
