/** Builds addresses of the list of projects. Its filter, its order and its page stand in the address. */

import { html } from 'hono/html';
import { PROJECT_STATES, type ProjectFilter, type ProjectState } from '../../deciding/project-rows.ts';
import type { Part } from '../../html/chart/share-bar.ts';
import type { Html } from '../../html/markup.ts';

export interface ProjectListAddress extends Partial<ProjectFilter> {
  /** Pages are counted from 1. */
  readonly page?: number;
}

export function projectsPath({ text, state, order, page }: ProjectListAddress): string {
  const query = new URLSearchParams();
  if (text) query.set('q', text);
  if (state !== undefined) query.set('state', state);
  if (order !== undefined && order !== 'activity') query.set('order', order);
  if (page !== undefined && page > 1) query.set('page', String(page));
  return query.size === 0 ? '/console/projects' : `/console/projects?${query.toString()}`;
}

const TONES: Readonly<Record<ProjectState, Part['tone']>> = {
  'needs a person': 'bad',
  'not read': 'odd',
  acknowledged: 'accent',
  failing: 'busy',
  healthy: 'well',
};

export const PROJECT_PARTS = PROJECT_STATES.map((state) => ({ state, tone: TONES[state] }));

const MARKS: Readonly<Record<ProjectState, string>> = {
  'needs a person': '▲',
  'not read': '?',
  acknowledged: '◆',
  failing: '▲',
  healthy: '●',
};

/** Shows the state as a coloured word with a mark, for people who cannot distinguish the colours. */
export function stateBadge(state: ProjectState): Html {
  return html`<span class="badge ${TONES[state]}"><span aria-hidden="true">${MARKS[state]}</span> ${state}</span>`;
}
