/** Shows a project by its name, with its id beside it. A project without a known name is shown by its id. */

import { html } from 'hono/html';
import type { Html } from '../markup.ts';
import { projectPath } from '../paths.ts';

/** Leads from a page about a part of a project back to the project and to the overview. */
export function projectCrumbs(accountId: string, projectId: string, name: string | undefined): Html {
  return html`<p class="crumbs"><a href="/console">Overview</a> › <a href="/console/projects">Projects</a> › <a href="${projectPath(accountId, projectId)}">${name ?? projectId}</a></p>`;
}

export function projectLink(accountId: string, projectId: string, names: ReadonlyMap<string, string>): Html {
  const name = names.get(projectId);
  const path = projectPath(accountId, projectId);
  if (name === undefined || name === projectId) return html`<a class="id" href="${path}">${projectId}</a>`;
  return html`<a href="${path}">${name}</a> <span class="id quiet">${projectId}</span>`;
}
