/**
 * Decides what a caller sees of the upstream's answer, or of its absence. Callers see only their own projects, and
 * secrets only with the scope for them; no answer becomes a problem.
 */

import { type Caller, maySee } from '../../../shared/callers/scopes.ts';
import type { CursorSeal } from '../../../shared/callers/seal.ts';
import type { FirstRequest } from '../../../shared/commands/idempotency-store.ts';
import { type JsonPart, readJson, textOf, withoutSecrets } from '../../../shared/commands/json-text.ts';
import type { CommandOutcome, Sent, Unsent } from '../../../shared/commands/send-once.ts';
import { once } from '../../../shared/runtime/on-demand.ts';
import { type Call, isRead } from '../../../shared/upstream/calls/call.ts';
import {
  ANSWER_BYTES_MAX,
  type ForwardableCall,
  type ForwardedAnswer,
  hadNoEffect,
} from '../../../shared/upstream/forward.ts';
import type { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { invalid, keyReused, Problem } from '../serving/problem.ts';
import type { ApiAnswer } from '../serving/route.ts';

/** To make one takes longer than to decode a usual answer. */
const decoder = once(() => new TextDecoder());

export interface Viewer {
  readonly caller: Caller;
  readonly cursors: CursorSeal;
}

/**
 * The bytes of the upstream are unchanged when nothing has to be left out. Nothing is left out of a file, because it
 * may be no text, and because the scope that reads it stands for what is in it.
 */
export function shownTo(
  viewer: Viewer,
  answer: ForwardedAnswer,
  { call, shows }: ForwardableCall,
): ApiAnswer {
  if (call.isFile && answer.status < 300) return answer;
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

/**
 * A page may become short or empty. The cursor is the id of a project, possibly of another caller's project, so it is
 * sealed. The rows that are shown are as the upstream wrote them. Throws when the list cannot be read, because then it
 * cannot be shortened, and must not be shown whole to this caller.
 */
function ownProjects({ caller, cursors }: Viewer, answer: ForwardedAnswer): ForwardedAnswer {
  if (answer.status >= 300) return answer;
  const text = decoder().decode(answer.body);
  const [list, ...more] = readJson(text) ?? [];
  if (list === undefined || more.length > 0 || list.kind !== 'object') throw unshowable();
  const isOwnId = (id: JsonPart) => id.kind === 'text' && maySee(caller, textOf(text, id));
  const isNamedBy = (names: readonly string[]) => (row: JsonPart) => {
    const ids = names.flatMap((name) => membersOf(text, row, name));
    return ids.length > 0 && ids.every(isOwnId);
  };
  const listOf = (name: string, isShown: (item: JsonPart) => boolean) =>
    membersOf(text, list, name).flatMap((part) => {
      const items = part.kind === 'list' ? part.items.filter(isShown) : [];
      return `"${name}":[${items.map(({ start, end }) => text.slice(start, end)).join(',')}]`;
    });
  const rows = [
    ...listOf('projects', isNamedBy(['id', 'project_id'])),
    ...listOf('branches', isNamedBy(['project_id'])),
  ];
  const sealed = membersOf(text, list, 'pagination')
    .flatMap((pagination) => membersOf(text, pagination, 'cursor'))
    .filter(({ kind }) => kind === 'text')
    .map((part) => `"pagination":${JSON.stringify({ cursor: cursors.seal(textOf(text, part)) })}`);
  const shown = [
    ...(rows.length > 0 ? rows : ['"projects":[]']),
    ...listOf('unavailable_project_ids', isOwnId),
    ...sealed,
  ];
  return { ...answer, body: new TextEncoder().encode(`{${shown.join(',')}}`) };
}

function membersOf(text: string, part: JsonPart, name: string): readonly JsonPart[] {
  if (part.kind !== 'object') return [];
  return part.members.filter((member) => textOf(text, member.name) === name).map(({ value }) => value);
}

function unshowable(): Problem {
  return new Problem('upstream-unavailable', {
    detail: 'The upstream gave an answer that cannot be shown to this token. Asking again may help.',
  });
}

/** Throws `Problem` when the outcome is no answer of the upstream. */
export function commandAnswer(outcome: CommandOutcome, call: Call): ApiAnswer {
  if (outcome.kind === 'unanswered') throw unansweredProblem(outcome.failure, call);
  return outcome.kind === 'answered' ? firstAnswer(outcome) : repeatedAnswer(outcome);
}

function firstAnswer({
  answer,
  operationIds,
  recorded,
  lockedBy = [],
}: Extract<Sent, { kind: 'answered' }>): ApiAnswer {
  const lockHeader = lockedBy.length === 0 ? {} : { 'bridge-locked-by': lockedBy.join(', ') };
  return {
    ...answer,
    headers: { ...answer.headers, ...lockHeader },
    ...(operationIds && { operationIds }),
    ...(recorded && { recorded }),
  };
}

function repeatedAnswer(outcome: Unsent): ApiAnswer {
  switch (outcome.kind) {
    case 'replayed':
      return replayedAnswer(outcome);
    case 'answer_not_kept':
      throw notKept(outcome.first);
    case 'key_reused':
      throw keyReused();
    case 'in_progress':
      throw new Problem('in-progress', {
        detail: 'The first request with this Idempotency-Key has not ended yet; ask again in some seconds.',
        headers: { 'retry-after': '2' },
      });
    case 'outcome_unknown':
      throw new Problem('outcome-unknown', {
        detail:
          'The first request with this Idempotency-Key may have been carried out and is never sent again. ' +
          'Look at what it should have changed; then use a new key if it has to be repeated.',
      });
    case 'key_malformed':
      throw invalid([
        { field: 'header.idempotency-key', reason: 'must be 1 to 255 printable ASCII characters' },
      ]);
  }
}

/** The command was carried out, so the problem names what came of it. */
function notKept(first: FirstRequest): Problem {
  const { request_id, project_id, branch_id, operation_ids = [] } = first;
  const names = [
    ...(branch_id === undefined ? [] : [`branch ${branch_id}`]),
    ...operation_ids.map((id) => `operation ${id}`),
  ];
  const about = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return new Problem('secret-already-issued', {
    detail:
      `The first request with this Idempotency-Key, ${request_id}, was carried out${about}. Its answer is not kept, because it held a secret or was too large. ` +
      'If a secret was lost with it, issue a new one with a new key and withdraw the old one.',
    headers: { 'bridge-first-request-id': request_id },
    members: { first_request_id: request_id, project_id, branch_id, operation_ids },
  });
}

/** The path of the upstream at which the secrets of a connection can be asked for again. */
function secretsAt({ project_id, branch_id }: FirstRequest): string {
  if (project_id === undefined) return '/api/v2/projects';
  const query = branch_id === undefined ? '' : `?branch_id=${branch_id}`;
  return `/api/v2/projects/${project_id}/connection_uri${query}`;
}

function replayedAnswer({ answer, first }: Extract<Unsent, { kind: 'replayed' }>): ApiAnswer {
  const { status, contentType, body, isWithheld } = answer;
  return {
    status,
    headers: {
      ...(contentType !== undefined && { 'content-type': contentType }),
      'idempotency-replayed': 'true',
      'bridge-first-request-id': first.request_id,
      ...(isWithheld && { 'bridge-secrets-withheld': secretsAt(first) }),
    },
    ...(body !== '' && { body }),
  };
}

const ASK_AGAIN = 'Asking again may help.';
const MAY_BE_DONE =
  'The command may have been carried out: look at what it should have changed before you send it again.';

/** The problem says whether the command may have been carried out, in addition to what failed. */
export function unansweredProblem(failure: UpstreamError, call: Call): Problem {
  const advice = isRead(call) ? ASK_AGAIN : MAY_BE_DONE;
  if (hadNoEffect(failure)) {
    return new Problem('upstream-unavailable', {
      detail:
        "The upstream refused the bridge's own key. Nothing was done; whoever runs the bridge must renew the key.",
      cause: failure,
      provesNoWork: true,
    });
  }
  if (failure.kind === 'timeout' || failure.kind === 'cancelled') {
    return new Problem('upstream-timeout', {
      detail: `The upstream did not answer in time. ${advice}`,
      cause: failure,
    });
  }
  if (failure.isTooLarge) {
    return new Problem('upstream-unavailable', {
      detail: `The answer of the upstream has more than ${ANSWER_BYTES_MAX} bytes, which is the most that is passed on. ${isRead(call) ? 'Ask for a smaller part of it, for example with limit.' : MAY_BE_DONE}`,
      cause: failure,
    });
  }
  return new Problem('upstream-unavailable', {
    detail: `The upstream gave no usable answer. ${advice}`,
    cause: failure,
  });
}
