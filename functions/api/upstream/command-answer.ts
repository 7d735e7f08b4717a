/** Turns what became of a command into an answer on HTTP. */

import type { FirstRequest } from '../../../shared/commands/idempotency-store.ts';
import type { CommandOutcome, Sent, Unsent } from '../../../shared/commands/send-once.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { invalid, Problem } from '../serving/problem.ts';
import type { ApiAnswer } from '../serving/route.ts';
import { unansweredProblem } from './unanswered-problem.ts';

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
      throw new Problem('key-reused', {
        detail: 'Another request was sent with this Idempotency-Key; use a new key for each command.',
      });
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
      `The first request with this Idempotency-Key, ${request_id}, was carried out${about}. Its answer held a secret, which is not kept. ` +
      'If the answer was lost, issue a new secret with a new key and withdraw the old one.',
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
