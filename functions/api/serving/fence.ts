/**
 * Decides what a caller may reach, from the scope of the call, the projects of the token, and how far the call itself
 * reaches.
 */

import { authorize, type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { undeclaredFields } from '../../../shared/upstream/calls/undeclared-fields.ts';
import { invalid, nameable, notFound, Problem } from './problem.ts';
import { projectIdsIn, type RawRequest } from './read-request.ts';
import type { ApiRequest, Route } from './route.ts';

/**
 * This check needs no body. It throws `Problem`. The scope comes first, so that a refusal says nothing about a
 * project.
 */
export function checkPermission(caller: Caller, route: Route, { ids }: RawRequest): void {
  const { access } = route;
  if (access !== 'public' && access !== 'signed_in') {
    const decision = authorize(caller, access, undefined);
    if (decision.kind === 'scope_missing') throw scopeMissing(decision.scope);
  }
  const projectId = ids['project_id'];
  if (projectId !== undefined && !maySee(caller, projectId)) throw notFound({ isHidden: true });
  if (isClosedTo(caller, route)) throw accountWide();
}

/** A call that reaches beyond one project is closed to a caller who is limited to some projects. */
function isClosedTo({ projectIds }: Caller, { reach }: Route): boolean {
  return projectIds !== undefined && reach === 'account';
}

/**
 * The body of a caller who is limited to some projects must name no other project, and must have only fields that the call
 * declares, because an undeclared field could reach further. Throws `Problem`.
 */
export function checkBody(caller: Caller, route: Route, body: ApiRequest['body']): void {
  if (caller.projectIds === undefined) return;
  const isForeign = (id: unknown) => typeof id !== 'string' || !maySee(caller, id);
  if (projectIdsIn(body).some(isForeign)) throw notFound({ isHidden: true });
  if (route.reach === 'named_project' && isForeign(body?.['project_id'])) throw notFound({ isHidden: true });
  const undeclared = undeclaredFields(route.body, body);
  if (undeclared.length === 0) return;
  throw invalid(
    undeclared.map((field) => ({
      field: `body.${nameable(field)}`,
      reason: 'a token that is limited to projects may send only fields that this call declares',
    })),
  );
}

function scopeMissing(scope: string): Problem {
  return new Problem('scope-missing', {
    detail: `This call needs the scope ${scope}; ask whoever runs the bridge for a token that has it.`,
  });
}

function accountWide(): Problem {
  return new Problem('account-wide', {
    detail:
      'This token is limited to projects, and this call reaches beyond one project; ask whoever runs the bridge for a token without a list of projects.',
  });
}
