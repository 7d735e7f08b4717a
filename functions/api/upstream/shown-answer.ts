/**
 * Decides what a caller sees of the upstream's answer to a read. Callers see only their own projects, and secrets
 * only with the scope for them.
 */

import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import type { CursorSeal } from '../../../shared/callers/sealed-cursor.ts';
import type { ForwardableCall } from '../../../shared/commands/command-request.ts';
import { withoutSecrets } from '../../../shared/commands/hidden-secrets.ts';
import { once } from '../../../shared/runtime/on-demand.ts';
import type { ForwardedAnswer } from '../../../shared/upstream/forward.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer } from '../serving/route.ts';

/** To make one takes longer than to decode a usual answer. */
const decoder = once(() => new TextDecoder());

export interface Viewer {
  readonly caller: Caller;
  readonly cursors: CursorSeal;
}

/** The bytes of the upstream are unchanged when nothing has to be left out. */
export function shownTo(
  viewer: Viewer,
  answer: ForwardedAnswer,
  { call, shows }: ForwardableCall,
): ApiAnswer {
  const { caller } = viewer;
  const isFiltered = call.reach === 'own_projects' || call.reach === 'listed_projects';
  const own = isFiltered && caller.projectIds !== undefined ? ownProjects(viewer, answer) : answer;
  return maySeeSecrets(caller, shows) ? { ...own, showsSecrets: holdsSecrets(own) } : hidingSecrets(own);
}

/** Leaves secrets in the answer to a command when it exists to issue them, or when the caller has the scope for them. */
export function shownOutcome(caller: Caller, answer: ApiAnswer, { shows }: ForwardableCall): ApiAnswer {
  const { body } = answer;
  if (shows === 'issued' || maySeeSecrets(caller, shows)) return answer;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return answer;
  const text = typeof body === 'string' ? body : decoder().decode(body);
  const shown = withoutSecrets(text);
  if (shown === undefined) throw unshowable();
  return shown === text ? answer : { ...answer, body: shown };
}

function maySeeSecrets({ scopes }: Caller, shows: ForwardableCall['shows']): boolean {
  return scopes.has('secrets:read') || (shows === 'connection' && scopes.has('connection:read'));
}

/**
 * Returns true when the answer has something that a caller without the scope must not see, or when it cannot be
 * searched.
 */
function holdsSecrets({ body }: ForwardedAnswer): boolean {
  const text = decoder().decode(body);
  return withoutSecrets(text) !== text;
}

function hidingSecrets(answer: ForwardedAnswer): ForwardedAnswer {
  const text = decoder().decode(answer.body);
  const shown = withoutSecrets(text);
  if (shown === undefined) throw unshowable();
  return shown === text ? answer : { ...answer, body: new TextEncoder().encode(shown) };
}

/** A page may become short or empty. The cursor is the id of a project, possibly of another caller's project, so it is sealed. */
function ownProjects({ caller, cursors }: Viewer, answer: ForwardedAnswer): ForwardedAnswer {
  if (answer.status >= 300) return answer;
  const body = parsed(answer);
  const { projects, unavailable_project_ids: unavailable, pagination } = body;
  const isOwn = (project: unknown) => isObject(project) && isOwnId(project['id'] ?? project['project_id']);
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

/**
 * Throws when the list cannot be read, because then it cannot be shortened, and must not be shown whole to this
 * caller.
 */
function parsed({ body }: ForwardedAnswer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(decoder().decode(body));
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
