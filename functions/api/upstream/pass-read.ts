/** Passes a read on to the upstream for a caller, who is shown only what the token may see. */

import { type CursorSeal, cursorSealOf } from '../../../shared/callers/sealed-cursor.ts';
import type { ForwardableCall } from '../../../shared/commands/command-request.ts';
import { forwardCall } from '../../../shared/commands/forward-call.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { invalid } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import { lockWait } from './lock-wait.ts';
import { shownTo } from './shown-answer.ts';
import { unansweredProblem } from './unanswered-problem.ts';
import type { UpstreamAccount } from './upstream-account.ts';

export interface ReadDeps {
  readonly patient: PatientCallers;
  readonly telemetry: Telemetry;
  /** This key seals cursors. */
  readonly pepper: () => Promise<Secret>;
}

/**
 * A process has at most this many sockets for reads. On Lambda it serves one request at a time, and on one machine as
 * many as callers send: each read has an answer of up to five megabytes in memory.
 */
export const READ_SOCKETS_MAX = 100;

export async function passRead(
  deps: ReadDeps,
  { upstream, fairShare }: UpstreamAccount,
  target: ForwardableCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { telemetry, patient } = deps;
  const { caller, requestId, ids, body } = request;
  const cursors = cursorSealOf(caller, await deps.pepper());
  const listsProjects = target.call.reach === 'own_projects' || target.call.reach === 'listed_projects';
  const query =
    listsProjects && caller.projectIds !== undefined ? opened(request.query, cursors) : request.query;
  const call = { requestId, target, ids, query, body };
  const waiting = lockWait({ patient, fairShare }, request);
  const result = await forwardCall({ upstream, telemetry }, call, waiting);
  if (result.kind === 'unanswered') throw unansweredProblem(result.failure, target.call);
  return shownTo({ caller, cursors }, result.answer, target);
}

/** The cursor of a project list is the id of a project, so a caller who may see only some projects has it in sealed form. */
function opened(query: ApiRequest['query'], cursors: CursorSeal): ApiRequest['query'] {
  const { cursor } = query;
  if (typeof cursor !== 'string') return query;
  try {
    return { ...query, cursor: cursors.open(cursor) };
  } catch {
    throw invalid([
      { field: 'query.cursor', reason: 'is not one that this list gave out; begin without one' },
    ]);
  }
}
