/**
 * Passes one call on to the upstream for a caller. It is a read or a command, and the caller gets the upstream's own
 * answer.
 */

import type { StandingOf } from '../../../shared/accounts/account-directory.ts';
import type { PerAccount } from '../../../shared/accounts/per-account.ts';
import type { Caller } from '../../../shared/callers/authorize.ts';
import type { CommandRequest, ForwardableCall } from '../../../shared/commands/command-request.ts';
import { sendCommand } from '../../../shared/commands/send-command.ts';
import type { CommandOutcome } from '../../../shared/commands/send-once.ts';
import { isRead } from '../../../shared/upstream/calls/call.ts';
import { refuseWhileFrozen } from '../queue/freeze.ts';
import { answerOfQueued, type QueueDeps, queueCommand } from '../queue/queue-command.ts';
import { refuseUnlessActive } from '../serving/account-standing.ts';
import { isQueued, traceparentOf } from '../serving/prefer-async.ts';
import { isAnsweredAtEnd, isReadyAwaited } from '../serving/prefer-wait.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import { commandAnswer } from './command-answer.ts';
import { lockWait } from './lock-wait.ts';
import { passRead, type ReadDeps } from './pass-read.ts';
import { settleCommand } from './settle-command.ts';
import { shownOutcome } from './shown-answer.ts';
import type { UpstreamAccount } from './upstream-account.ts';

export interface PassThroughDeps extends QueueDeps, ReadDeps {
  readonly accounts: PerAccount<UpstreamAccount>;
  readonly standingOf: StandingOf;
}

export async function passThrough(
  deps: PassThroughDeps,
  target: ForwardableCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  refuseUnlessActive(deps.standingOf, request.caller);
  const account = accountOf(deps, request.caller);
  const pass = isRead(target.call) ? passRead : passCommand;
  return sandboxed(await pass(deps, account, target, request));
}

async function passCommand(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  target: ForwardableCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { requestId, caller, ids, query, body, headers } = request;
  const idempotencyKey = headers['idempotency-key'];
  const traceparent = traceparentOf(headers);
  const command = { requestId, caller, target, ids, query, body, idempotencyKey, traceparent };
  if (isQueued(target.call, headers.prefer)) {
    const queued = await queueCommand(deps, account.queue, command, request);
    return 'kind' in queued ? shownOutcome(caller, commandAnswer(queued, target.call), target) : queued;
  }
  await refuseWhileFrozen(account.queue.freeze);
  if (isAnsweredAtEnd(caller, headers.prefer)) return passSettled(deps, account, command, request);
  const waiting = lockWait({ patient: deps.patient, fairShare: account.fairShare }, request);
  const outcome = await sendCommand(deps, account, command, waiting);
  const queued = await answerOfQueued(deps, account.queue, outcome, request);
  return queued ?? shownOnceRecorded(command, request, outcome);
}

/** A refusal to show the answer waits for the records as the answer itself does. */
async function shownOnceRecorded(
  { target }: CommandRequest,
  { caller }: ApiRequest,
  outcome: CommandOutcome,
): Promise<ApiAnswer> {
  try {
    return shownOutcome(caller, commandAnswer(outcome, target.call), target);
  } catch (problem) {
    if (outcome.kind === 'answered') await outcome.recorded;
    throw problem;
  }
}

/** An answer without `bridge-command` means that the operations of the command have ended well. */
async function passSettled(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  command: CommandRequest,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const { target } = command;
  const { outcome, askAt } = await settleCommand(deps, account, command, request);
  const queued = await answerOfQueued(deps, account.queue, outcome, request);
  if (queued !== undefined) return queued;
  const answer = shownOutcome(request.caller, commandAnswer(outcome, target.call), target);
  if (askAt !== undefined) return withHeader(answer, 'bridge-command', askAt);
  const isApplied = answer.status < 300 && isReadyAwaited(request.headers.prefer);
  return isApplied ? withHeader(answer, 'preference-applied', 'wait=ready') : answer;
}

function withHeader(answer: ApiAnswer, name: string, value: string): ApiAnswer {
  return { ...answer, headers: { ...answer.headers, [name]: value } };
}

/** A page or a picture of the upstream that is opened in a browser must not run as a page of the bridge. */
function sandboxed(answer: ApiAnswer): ApiAnswer {
  if (/^application\/(json|problem\+json)\b/i.test(answer.headers?.['content-type'] ?? '')) return answer;
  const headers = { ...answer.headers, 'content-security-policy': "default-src 'none'; sandbox" };
  return { ...answer, headers };
}

function accountOf({ accounts }: PassThroughDeps, { account_id }: Caller): UpstreamAccount {
  const account = accounts.get(account_id);
  if (account !== undefined) return account;
  throw new Problem('not-found', {
    detail: 'The account of this token is not configured here; ask whoever runs the bridge.',
  });
}
