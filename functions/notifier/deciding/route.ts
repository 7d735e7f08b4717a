/** Decides which channels report a notice. */

import type { AlertPolicy } from './alert-policy.ts';
import type { Notice } from './notice.ts';
import { covers } from './project-list.ts';
import { isAtLeast } from './severity.ts';

export interface Routed {
  /** These are names of channels. `every` stands for all that are set up. */
  readonly channels: readonly string[] | 'every';
  /** When true, no route is about the notice although people have to know of it, so it goes to every channel. */
  readonly isDefault: boolean;
}

/** Decides by the first route that matches. A notice below that route's severity goes to no channel. */
export function routeOf(notice: Notice, { routes }: Pick<AlertPolicy, 'routes'>): Routed {
  const route = routes.find(({ project_ids }) => covers(project_ids, notice.project_id));
  // Routes with projects choose among projects. They say nothing about an account or a channel.
  if (route === undefined && notice.project_id === undefined) return { channels: 'every', isDefault: true };
  const isWanted = route !== undefined && isAtLeast(notice.severity, route.severity_min);
  return { channels: isWanted ? (route.channels ?? 'every') : [], isDefault: false };
}
