/**
 * Makes the small pieces of HTML that every page uses, and the addresses of pages. The template escapes all text, and
 * nothing here undoes that.
 */

import { html } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { RecordName } from '../../../../shared/store/keys.ts';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Makes a list of names and values, and leaves out each pair without a value. */
export function facts(pairs: readonly (readonly [string, Html | string | number | undefined])[]): Html {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Shows a state as a coloured word. The mark is for people who cannot distinguish the colours. */
export function stateBadge(tone: string, mark: string, word: Html | string): Html {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${mark}</span> ${word}</span>`;
}

/** Makes the sentence that stands where a list would be. */
export function empty(sentence: string): Html {
  return html`<p class="empty">${sentence}</p>`;
}

export function json(value: unknown): Html {
  return html`<pre tabindex="0">${JSON.stringify(value, null, 2)}</pre>`;
}

/** Makes the heading of a page with what can be done on it, which stands at the end of the same line. */
export function pageHead(title: Html | string, actions: Html | ''): Html {
  return html`<div class="head"><h1>${title}</h1>${actions}</div>`;
}

/** Makes the content of a page that has only one thing to say. */
export function simple(title: string, sentence: string): Html {
  return html`<h1>${title}</h1><p class="empty">${sentence}</p>`;
}

/**
 * The summary names what is chosen, as `Filter: failed, start_compute`, so that a folded filter is not overlooked. Wide
 * screens show the form in any case, and no summary.
 */
export function filterFold(chosen: readonly (string | undefined)[], form: Html): Html {
  const named = chosen.filter((each) => each !== undefined && each !== '').join(', ');
  return html`<details id="filter" class="filter"><summary>${named === '' ? 'Filter' : `Filter: ${named}`}</summary>${form}</details>`;
}

export function accountPath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}`;
}

export function freezePath(accountId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/freeze`;
}

/** `lift` is the id of a mute to be lifted. Without it the form of the page is filled in with the given place. */
export function mutesPath({
  lift,
  projectId,
  action,
}: {
  readonly lift?: string;
  readonly projectId?: string;
  readonly action?: string;
}): string {
  if (lift !== undefined) return `/console/mutes/${encodeURIComponent(lift)}/lift`;
  const query = new URLSearchParams({
    ...(projectId && { project_id: projectId }),
    ...(action && { action }),
  });
  return query.size === 0 ? '/console/mutes' : `/console/mutes?${query.toString()}`;
}

/** A form that is sent there acknowledges the incident. */
export function acknowledgePath(incidentId: string): string {
  return `/console/incidents/${encodeURIComponent(incidentId)}/acknowledge`;
}

export function projectPath(accountId: string, projectId: string): string {
  return `/console/accounts/${encodeURIComponent(accountId)}/projects/${encodeURIComponent(projectId)}`;
}

export function operationPath(accountId: string, projectId: string, operationId: string): string {
  return `${projectPath(accountId, projectId)}/operations/${encodeURIComponent(operationId)}`;
}

export function branchPath(accountId: string, projectId: string, branchId: string): string {
  return `${projectPath(accountId, projectId)}/branches/${encodeURIComponent(branchId)}`;
}

export function computePath(accountId: string, projectId: string, endpointId: string): string {
  return `${projectPath(accountId, projectId)}/endpoints/${encodeURIComponent(endpointId)}`;
}

/** `requestId` is also the id of a queued command. */
export function commandPath(accountId: string, projectId: string, requestId: string): string {
  return `${projectPath(accountId, projectId)}/commands/${encodeURIComponent(requestId)}`;
}

/** Returns the page of any record of a project. */
export function recordPath(accountId: string, { kind, projectId, id }: RecordName): string {
  switch (kind) {
    case 'project':
      return projectPath(accountId, projectId);
    case 'operation':
      return operationPath(accountId, projectId, id);
    case 'branch':
      return branchPath(accountId, projectId, id);
    case 'compute':
      return computePath(accountId, projectId, id);
    case 'command':
      return commandPath(accountId, projectId, id);
  }
}

export function endpointActionPath(
  accountId: string,
  projectId: string,
  { endpointId, action }: { readonly endpointId: string; readonly action: string },
): string {
  return `${projectPath(accountId, projectId)}/endpoints/${encodeURIComponent(endpointId)}/${action}`;
}
