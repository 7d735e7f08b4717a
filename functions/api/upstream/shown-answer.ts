/** What a caller gets to see of an upstream answer to a read: no project that is not theirs, no secret without its scope. */

import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { CursorSeal } from '../../../shared/callers/sealed-cursor.ts';
import type { ForwardedAnswer } from '../../../shared/upstream/forward.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { withoutSecrets } from './hidden-secrets.ts';

export interface Viewer {
  readonly caller: Caller;
  readonly cursors: CursorSeal;
}

/** The very bytes of the upstream, wherever nothing has to be left out. */
export function shownTo(viewer: Viewer, answer: ForwardedAnswer, listsProjects: boolean): ApiAnswer {
  const { projectIds, scopes } = viewer.caller;
  const own = listsProjects && projectIds !== undefined ? ownProjects(viewer, answer) : answer;
  return scopes.has('secrets:read') ? { ...own, showsSecrets: holdsSecrets(own) } : hidingSecrets(own);
}

/** What would be hidden from others, or cannot be looked through. */
function holdsSecrets({ body }: ForwardedAnswer): boolean {
  const text = new TextDecoder().decode(body);
  return withoutSecrets(text) !== text;
}

function hidingSecrets(answer: ForwardedAnswer): ForwardedAnswer {
  const text = new TextDecoder().decode(answer.body);
  const shown = withoutSecrets(text);
  if (shown === undefined) throw unshowable();
  return shown === text ? answer : { ...answer, body: new TextEncoder().encode(shown) };
}

/** Pages may become short or empty. The cursor is the id of somebody's project, so it is sealed. */
function ownProjects({ caller, cursors }: Viewer, answer: ForwardedAnswer): ForwardedAnswer {
  if (answer.status >= 300) return answer;
  const body = parsed(answer);
  const { projects, unavailable_project_ids: unavailable, pagination } = body;
  const isOwn = (project: unknown) => isObject(project) && isOwnId(project['id']);
  const isOwnId = (id: unknown) => typeof id === 'string' && maySee(caller, id);
  const shown = {
    projects: Array.isArray(projects) ? projects.filter(isOwn) : [],
    ...(Array.isArray(unavailable) && { unavailable_project_ids: unavailable.filter(isOwnId) }),
    ...(isObject(pagination) &&
      typeof pagination['cursor'] === 'string' && {
        pagination: { cursor: cursors.seal(pagination['cursor']) },
      }),
  };
  return { ...answer, body: new TextEncoder().encode(JSON.stringify(shown)) };
}

/** A list that cannot be read cannot be shortened, and whole it is not for this caller. */
function parsed({ body }: ForwardedAnswer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (isObject(value)) return value;
  } catch {
    throw unshowable();
  }
  throw unshowable();
}

function unshowable(): Problem {
  return new Problem('upstream-unavailable', {
    detail: 'The upstream gave an answer that cannot be shown to this token. Asking again may help.',
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
