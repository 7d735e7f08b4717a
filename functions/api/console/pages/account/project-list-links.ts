/** Builds addresses of the list of projects. Its filter, its order and its page stand in the address. */

import { PROJECT_STATES, type ProjectFilter, type ProjectState } from '../../deciding/project-rows.ts';
import type { Part } from '../../html/chart/share-bar.ts';

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
  'not read': 'bad',
  failing: 'busy',
  running: 'accent',
  quiet: 'faint',
};

export const PROJECT_PARTS = PROJECT_STATES.map((state) => ({ state, tone: TONES[state] }));

export function toneOfState(state: ProjectState): string {
  return state === 'quiet' ? 'calm' : state === 'running' ? 'busy' : TONES[state];
}
