/**
 * Implements the upstream behind the port of HTTP: keys, the limit of the account, pages, commands and faults, all on virtual
 * time.
 */

import type { HttpAnswer, HttpRequest, SendHttp } from '../../../../shared/upstream/pooled-http.ts';
import type { Process } from '../../scheduler.ts';
import { microsecondsOf } from '../../upstream-model.ts';
import { DAY_MS, MINUTE_MS } from '../plan.ts';
import type { WideWorld } from '../world.ts';
import { answerCommand } from './commands.ts';
import { computeRows } from './computes.ts';
import type { OperationSource } from './draw-operations.ts';
import { httpAnswer, inTime, whole } from './http-answer.ts';
import { cutOff, drawHttpFault, type HttpFault } from './http-faults.ts';
import { jsonRow, operationsPage, projectsPage } from './pages.ts';
import { type LoggedRequest, loggedRequest } from './request-log.ts';
import { isThere, isWithin, type Truth, type TruthProject } from './truth.ts';

export const UPSTREAM_URL = 'https://upstream.simulated/api/v2';

export interface VirtualUpstream {
  readonly truth: Truth;
  readonly log: readonly LoggedRequest[];
  /**
   * Lists the keys in the order in which they became valid, and since when they are. Only the last one is accepted.
   */
  readonly keys: { readonly key: string; readonly sinceMs: number }[];
  /** `isCommand` marks requests that the API sends for a caller, and not the poller. */
  sendOf(owner: Process, isCommand: boolean): SendHttp;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

export function createVirtualUpstream(
  world: WideWorld,
  truth: Truth,
  source: OperationSource,
): VirtualUpstream {
  const log: LoggedRequest[] = [];
  const keys = [{ key: 'key-0', sinceMs: 0 }];
  const missedOnce = new Set<string>();
  const { scheduler } = world;

  return {
    truth,
    log,
    keys,
    sendOf: (owner, isCommand) => {
      const clock = scheduler.clockOf(owner);
      return (request) => inTime(clock, request, () => exchange(owner, isCommand, request));
    },
  };

  async function exchange(
    owner: Process,
    isCommand: boolean,
    { method, url, headers, signal }: HttpRequest,
  ): Promise<HttpAnswer> {
    const key = keyIn(headers);
    const sent = world.listener.sent(owner);
    let entry: LoggedRequest | undefined;
    const { fault, answer } = await world.call(owner, world.plan.upstreamMs, () => {
      entry = loggedRequest({ atMs: scheduler.now(), by: owner.name, isCommand, path: url.pathname, key });
      log.push(entry);
      const drawn = neverAnswered(url) ?? drawHttpFault(world);
      // A refused request does no work; a request whose answer is lost does.
      const given = drawn?.kind === 'refused' ? drawn : answerTo(entry, url, method);
      entry.status = given.status;
      entry.reason ||= drawn?.kind ?? '';
      world.note(
        owner.name,
        `${method} ${url.pathname.slice(7)}${url.search}`,
        `${given.status} ${entry.reason}`,
      );
      return { fault: drawn, answer: given };
    });
    const response = responseOf(answer, fault);
    if (fault === undefined && response !== undefined)
      world.listener.answered(sent, {
        method,
        url,
        status: answer.status,
        date: response.headers.get('date') ?? undefined,
        body: () => JSON.parse(answer.text) as unknown,
      });
    if (response === undefined) return fault?.kind === 'hangs' ? new Promise(() => {}) : failedFetch();
    // A client that has stopped to wait, because its invocation ends, does not see what arrives then.
    if (fault === undefined && entry !== undefined && signal?.aborted !== true) entry.isDelivered = true;
    return response;
  }

  function neverAnswered({ pathname }: URL): HttpFault | undefined {
    const [, kind, id] = pathname.split('/').slice(4);
    const op = kind === 'operations' && id !== undefined ? truth.operationOf(id) : undefined;
    if (op?.readingIs !== 'hangs') return undefined;
    world.fire('operation_never_answered');
    return { kind: 'hangs' };
  }

  function responseOf(
    { status, headers, text }: Answer,
    fault: HttpFault | undefined,
  ): HttpAnswer | undefined {
    if (fault?.kind === 'reset' || fault?.kind === 'hangs') return undefined;
    const date = new Date(scheduler.now() + dateErrorMs()).toUTCString();
    const all = { 'content-type': 'application/json', date, ...headers };
    if (fault?.kind === 'cut_off') return httpAnswer(status, all, cutOff(text));
    if (fault?.kind === 'not_json') return httpAnswer(status, all, whole('<html>Please sign in</html>'));
    return httpAnswer(status, all, whole(text));
  }

  function dateErrorMs(): number {
    if (world.strikes('http_date_ahead')) return errorMs();
    return world.strikes('http_date_behind') ? -errorMs() : 0;
  }

  /** Each order of size between ten minutes and a year is as likely as the others. */
  function errorMs(): number {
    const [shortestMs, longestMs] = [10 * MINUTE_MS, 365 * DAY_MS];
    return shortestMs * (longestMs / shortestMs) ** world.foreign.next();
  }

  /** A replica answers with what was true some seconds ago. */
  function asOfMs(kind: 'list_replica_lags' | 'read_replica_lags'): number {
    const lagMs = world.plan.replicaLagMsMax ?? 0;
    return scheduler.now() - (world.strikes(kind) ? world.foreign.next() * lagMs : 0);
  }

  function answerTo(entry: LoggedRequest, url: URL, method: string): Answer {
    if (entry.key !== keys.at(-1)?.key) return refusal(401, 'the key is not valid');
    const [projectId, kind, id] = url.pathname.split('/').slice(4);
    const query = {
      limit: Number(url.searchParams.get('limit') ?? 10),
      cursor: url.searchParams.get('cursor') ?? undefined,
    };
    if (projectId === undefined) return listProjects(entry, query);
    Object.assign(entry, { projectId, ...query });
    if (kind === 'endpoints') Object.assign(entry, { route: 'computes' });
    const project = truth.projectOf(projectId);
    if (project === undefined || !isWithin(project.visible, scheduler.now()))
      return refusal(404, 'no such project');
    if (isWithin(project.notFound, scheduler.now())) {
      world.fire('project_not_found_for_a_while');
      entry.reason = 'not found for a while';
      return refusal(404, 'no such project');
    }
    if (method === 'POST') {
      Object.assign(entry, { route: 'command' });
      return answerCommand(world, { truth, source, project });
    }
    if (kind === 'endpoints') return listComputes(entry, project);
    Object.assign(entry, { route: id === undefined ? 'operations' : 'operation', operationId: id });
    if (isWithin(project.failing, scheduler.now())) {
      world.fire('project_operations_failing');
      entry.reason = 'this project fails';
      return refusal(500, 'something went wrong');
    }
    if (kind === 'operations' && id === undefined) {
      const belowUs = query.cursor === undefined ? undefined : microsecondsOf(query.cursor);
      if (belowUs !== undefined && belowUs <= (project.failingBelowUs ?? Number.NEGATIVE_INFINITY)) {
        world.fire('operation_page_failing');
        entry.reason = 'this page fails';
        return refusal(500, 'something went wrong');
      }
      const asOf = asOfMs('list_replica_lags');
      const { body, rowIds, malformedCount } = operationsPage(world, project, query, asOf);
      Object.assign(entry, { rowIds, malformedCount });
      return ok(body);
    }
    return getOperation(entry, id);
  }

  function listProjects(entry: LoggedRequest, query: { limit: number; cursor: string | undefined }): Answer {
    if (query.cursor !== undefined && isWithin(truth.listFailing, scheduler.now())) {
      world.fire('project_list_failing');
      entry.reason = 'the list fails';
      return refusal(500, 'something went wrong');
    }
    const { body, rowIds, unavailableIds, withheldIds } = projectsPage(world, truth, query);
    Object.assign(entry, {
      route: 'projects',
      shownIds: [...rowIds, ...unavailableIds],
      withheldIds,
      unavailableIds,
    });
    return ok(body);
  }

  function listComputes(entry: LoggedRequest, project: TruthProject): Answer {
    world.fire('computes_read');
    if (world.plan.faults.computes_refused > 0) {
      world.fire('computes_refused');
      entry.reason = 'computes are not for this key';
      return refusal(403, 'the key may not read computes');
    }
    return ok({ endpoints: computeRows(world, project) });
  }

  function getOperation(entry: LoggedRequest, id: string | undefined): Answer {
    const op = id === undefined ? undefined : truth.operationOf(id);
    if (op?.readingIs === 'refused') {
      world.fire('operation_unreadable_for_good');
      return refusal(403, 'this operation is not for you');
    }
    const nowMs = asOfMs('read_replica_lags');
    if (op === undefined || !isThere(op, nowMs)) return refusal(404, 'no such operation');
    if (!missedOnce.has(op.id) && world.strikes('operation_missing_once')) {
      missedOnce.add(op.id);
      entry.reason = 'missing this once';
      return refusal(404, 'no such operation');
    }
    return ok({ operation: jsonRow(world, op, nowMs) });
  }
}

function keyIn({ authorization = '' }: HttpRequest['headers']): string {
  return authorization.replace('Bearer ', '');
}

function ok(body: object): Answer {
  return { status: 200, text: JSON.stringify(body) };
}

function refusal(status: number, message: string): Answer {
  return { status, text: JSON.stringify({ message, code: '' }) };
}

function failedFetch(): Promise<never> {
  return Promise.reject(new TypeError('fetch failed'));
}
