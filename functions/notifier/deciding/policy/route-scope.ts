/** Decides which projects a route is about: by id, by name, or by a label that the policy defines. */

import type { AlertPolicy } from './alert-policy.ts';
import { fitsPattern } from './name-pattern.ts';
import { covers } from './project-list.ts';

type Policy = Pick<AlertPolicy, 'routes' | 'labels'>;
type Route = AlertPolicy['routes'][number];
type Label = AlertPolicy['labels'][string];

export interface RoutedSubject {
  readonly account_id: string;
  readonly project_id?: string | undefined;
  /** The upstream's name of the project. It is undefined when no list has shown it yet. */
  readonly project_name?: string | undefined;
}

/** Returns whether the route is about this. What a route lists must all fit, and one entry of each list is enough. */
export function isAbout(route: Route, subject: RoutedSubject, { labels }: Pick<Policy, 'labels'>): boolean {
  return (
    covers(route.project_ids, subject.project_id) &&
    hasName(route.project_names, subject) &&
    (route.labels === undefined ||
      route.labels.some((name) => labels[name] !== undefined && hasLabel(labels[name], subject)))
  );
}

function hasLabel({ account_ids, project_ids, project_names }: Label, subject: RoutedSubject): boolean {
  return (
    (account_ids === undefined || account_ids.includes(subject.account_id)) &&
    covers(project_ids, subject.project_id) &&
    hasName(project_names, subject)
  );
}

function hasName(patterns: readonly string[] | undefined, { project_name }: RoutedSubject): boolean {
  if (patterns === undefined) return true;
  return project_name !== undefined && patterns.some((pattern) => fitsPattern(project_name, pattern));
}

/** Returns whether a route can be decided only with the name of a project. */
export function usesNames({ routes, labels }: Policy): boolean {
  const ofLabels = routes.flatMap(({ labels: names = [] }) => names.flatMap((name) => labels[name] ?? []));
  return [...routes, ...ofLabels].some(({ project_names }) => project_names !== undefined);
}

/**
 * Returns the routes of which one is about this project, whatever its name: all that its name can decide, up to the
 * first that needs no name.
 */
export function possibleRoutes(
  policy: Policy,
  subject: Omit<RoutedSubject, 'project_name'>,
): readonly Route[] {
  const possible: Route[] = [];
  for (const route of policy.routes) {
    if (!covers(route.project_ids, subject.project_id)) continue;
    possible.push(route);
    if (route.project_names === undefined && route.labels === undefined) break;
  }
  return possible;
}
