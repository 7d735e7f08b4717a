/** One call of the upstream API on behalf of a caller: sent once, answered as it was, and its operations recorded. */

import type { Caller } from '../../../shared/callers/authorize.ts';
import { type CursorSeal, cursorSealOf } from '../../../shared/callers/sealed-cursor.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import { recordCommand } from '../../../shared/protocol/record-command.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Call } from '../../../shared/upstream/calls/call.ts';
import { operationSchema, parseRows } from '../../../shared/upstream/calls/schemas.ts';
import { type ForwardedAnswer, type ForwardOptions, forward } from '../../../shared/upstream/forward.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { patienceMsOf } from '../serving/patience.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { Problem } from '../serving/problem.ts';
import { invalid } from '../serving/read-request.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import type { PassThroughCall } from './pass-through-call.ts';
import type { IdempotencyDeps } from './send-once.ts';
import { sendOnce } from './send-once.ts';
import { shownTo } from './shown-answer.ts';
import type { UpstreamAccount } from './upstream-account.ts';

export interface PassThroughDeps extends IdempotencyDeps {
  readonly accounts: ReadonlyMap<string, UpstreamAccount>;
  readonly telemetry: Telemetry;
  readonly patient: PatientCallers;
}

/** Recording goes on in the poller when it takes longer: the caller has its answer to get. */
export const RECORD_MS_MAX = 5_000;

export async function passThrough(
  deps: PassThroughDeps,
  target: PassThroughCall,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const account = accountOf(deps, request.caller);
  const isRead = target.call.method === 'GET';
  return sandboxed(await (isRead ? read : runCommand)(deps, account, { target, request }));
}

function runCommand(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  { target, request }: Asked,
): Promise<ApiAnswer> {
  return sendOnce(deps, target, request, async () => {
    const answer = await forwarded(deps, account, { target, request });
    if (answer.status === 423)
      return { ...answer, headers: { ...answer.headers, ...(await lockHolders(account, request)) } };
    if (answer.status >= 300) return answer;
    return { ...answer, operationIds: await recordOperations(deps, account, { target, request, answer }) };
  });
}

async function read(
  deps: PassThroughDeps,
  account: UpstreamAccount,
  { target, request }: Asked,
): Promise<ApiAnswer> {
  const { caller } = request;
  const cursors = cursorSealOf(caller, await deps.pepper());
  const listsProjects = target.call.reach === 'own_projects';
  const opened = listsProjects && caller.projectIds !== undefined ? openingCursor(request, cursors) : request;
  const answer = await forwarded(deps, account, { target, request: opened });
  return shownTo({ caller, cursors }, answer, listsProjects);
}

/** The cursors of a project list are ids of projects: whoever may see only some gets them sealed, and brings them back so. */
function openingCursor(request: ApiRequest, cursors: CursorSeal): ApiRequest {
  const { cursor } = request.query;
  if (typeof cursor !== 'string') return request;
  try {
    return { ...request, query: { ...request.query, cursor: cursors.open(cursor) } };
  } catch {
    throw invalid([
      { field: 'query.cursor', reason: 'is not one that this list gave out; begin without one' },
    ]);
  }
}

/** A page or a picture of the upstream, opened in a browser, must not run as one of ours. */
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

async function forwarded(
  { telemetry, patient }: PassThroughDeps,
  { calls, fairShare }: UpstreamAccount,
  { target: { id, call }, request }: Asked,
): Promise<ForwardedAnswer> {
  const { ids, query, body, headers, signal, caller, requestId } = request;
  const patienceMs = patienceMsOf(headers.prefer);
  let release: (() => Promise<void>) | undefined;
  const options: ForwardOptions = {
    signal,
    patienceMs,
    async mayWait() {
      release ??= await patient.tryWait(caller, 'commands', patienceMs);
      return release !== undefined;
    },
    mayRepeat: () => fairShare.admit(caller.client_id) === 0,
    onKeyEchoed() {
      telemetry.measure('KeyEchoed', 1);
      telemetry.log('error', 'upstream.key_echoed', { request_id: requestId, call: id });
    },
  };
  try {
    return await forward(calls, call, { ids, query, ...(body && { body }) }, options);
  } catch (error) {
    throw isUpstreamError(error) ? problemOf(error, call) : error;
  } finally {
    await release?.();
  }
}

/** There is no answer to pass on. Whether the command was carried out is told apart from whether it was answered. */
function problemOf(error: { readonly kind: string; readonly message: string }, { method }: Call): Problem {
  const mayBeDone = method !== 'GET' && error.kind !== 'unauthorized';
  const advice = mayBeDone
    ? 'The command may have been carried out: look at what it should have changed before you send it again.'
    : 'Asking again may help.';
  if (error.kind === 'unauthorized') {
    return new Problem('upstream-unavailable', {
      detail:
        "The upstream refused the bridge's own key. Nothing was done; whoever runs the bridge must renew the key.",
      cause: error,
    });
  }
  if (error.kind === 'timeout' || error.kind === 'cancelled') {
    return new Problem('upstream-timeout', {
      detail: `The upstream did not answer in time. ${advice}`,
      cause: error,
    });
  }
  return new Problem('upstream-unavailable', {
    detail: `The upstream gave no usable answer. ${advice}`,
    cause: error,
  });
}

/** The ids of the operations that hold the project, as far as they are known here. */
async function lockHolders(
  { recording }: UpstreamAccount,
  { ids }: ApiRequest,
): Promise<Record<string, string>> {
  const projectId = ids['project_id'];
  if (projectId === undefined) return {};
  const work = await recording.store.findWork(projectId).catch(() => []);
  const operationIds = work.flatMap(({ operationId }) => operationId ?? []);
  return operationIds.length === 0 ? {} : { 'bridge-locked-by': operationIds.slice(0, 20).join(', ') };
}

interface Asked {
  readonly target: PassThroughCall;
  readonly request: ApiRequest;
}

interface Answered extends Asked {
  readonly answer: ForwardedAnswer;
}

/** Whatever happens to the record, the caller's answer is right, and the poller finds the operations later. */
async function recordOperations(
  { telemetry }: PassThroughDeps,
  { recording }: UpstreamAccount,
  { target, request, answer }: Answered,
): Promise<readonly string[]> {
  const operations = operationsIn(answer, request.ids['project_id']);
  const [first] = operations;
  if (first === undefined) return [];
  const command = {
    project_id: first.project_id,
    request_id: request.requestId,
    client_id: request.caller.client_id,
    call: target.id,
  };
  const recorded = recordCommand(recording, command, operations);
  try {
    await within(recorded, RECORD_MS_MAX, recording.clock);
  } catch (error) {
    telemetry.log('error', 'command.not_recorded', {
      request_id: request.requestId,
      reason: toError(error).name,
    });
  }
  return operations.map(({ id }) => id);
}

/** Operations that a command started; rows of another form are the poller's business. */
function operationsIn({ body }: ForwardedAnswer, project: string | undefined): readonly Operation[] {
  try {
    const parsed = JSON.parse(new TextDecoder().decode(body)) as { operations?: unknown } | null;
    if (!Array.isArray(parsed?.operations)) return [];
    const [first] = parsed.operations as readonly { project_id?: unknown }[];
    const projectId = project ?? (typeof first?.project_id === 'string' ? first.project_id : '');
    const { rows } = parseRows(parsed.operations, operationSchema(projectId));
    return rows.filter(({ project_id }) => project_id === projectId);
  } catch {
    return [];
  }
}

async function within(task: Promise<void>, durationMs: number, clock: RecordClock): Promise<void> {
  const waiting = new AbortController();
  const late = clock.sleep(durationMs, waiting.signal).then(() => {
    throw new Error('Recording takes too long');
  });
  // Whichever loses must not become an unhandled rejection.
  task.catch(() => {});
  late.catch(() => {});
  await Promise.race([task, late]).finally(() => waiting.abort());
}

type RecordClock = UpstreamAccount['recording']['clock'];
