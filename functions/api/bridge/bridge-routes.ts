/** The routes under `/bridge/v1`: what the bridge knows, for apps and people. They read the table and nothing else. */

import * as z from 'zod';
import { type Caller, maySee } from '../../../shared/callers/authorize.ts';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import { cursorSealOf } from '../../../shared/callers/sealed-cursor.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import { isSettled, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';
import { invalid } from '../serving/read-request.ts';
import type { ApiAnswer, ApiRequest, Route } from '../serving/route.ts';
import { notFound } from '../serving/serve-route.ts';
import { auditAnswer, auditQuery, readAudit } from './audit.ts';
import { eventsOf } from './event-feed.ts';
import { healthOf } from './health.ts';
import { listOperations } from './list-operations.ts';
import {
  cursor,
  eventAnswer,
  feedQuery,
  limit,
  operationAnswer,
  operationQuery,
  paged,
  recentQuery,
  WAIT_SECONDS_MAX,
  wait,
} from './parts.ts';
import { isVisibleTo, readFeed } from './read-feed.ts';
import type { ReadModel } from './read-model.ts';
import { sealedReadModel } from './sealed-read-model.ts';
import { operationView, projectView } from './views.ts';
import { waitFor } from './wait-for.ts';

export const BRIDGE_MOUNT = '/bridge/v1';

export interface BridgeDeps {
  /** By account. */
  readonly readModels: ReadonlyMap<string, ReadModel>;
  readonly statusOf: (accountId: string) => Promise<AccountStatus | undefined>;
  readonly patient: PatientCallers;
  /** Between two polls of a project, at least; by account. */
  readonly pollIntervalMsOf: (accountId: string) => number;
  /** Keys the seals of cursors. */
  readonly pepper: () => Promise<Secret>;
  /** Sentences about alert channels that take nothing. */
  readonly deafChannels: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

export function bridgeRoutes(deps: BridgeDeps): readonly Route[] {
  const modelOf = async (caller: Caller): Promise<ReadModel> => {
    const model = deps.readModels.get(caller.account_id);
    if (model === undefined) throw notFound();
    return sealedReadModel(model, cursorSealOf(caller, await deps.pepper()));
  };
  const get = <Q extends z.ZodObject>(
    route: Omit<Route, 'method' | 'group' | 'status' | 'handle' | 'query'> & { readonly query?: Q },
    read: (
      request: Omit<ApiRequest, 'query'> & { readonly query: z.output<Q> },
      model: ReadModel,
    ) => Promise<ApiAnswer>,
  ): Route => ({
    ...route,
    path: `${BRIDGE_MOUNT}${route.path}`,
    method: 'GET',
    group: 'Bridge',
    status: 200,
    // The query was parsed by this very schema.
    handle: async (request) => read(request as never, await modelOf(request.caller)).catch(cursorProblem),
  });

  return [
    get(
      {
        id: 'getHealth',
        path: '/health',
        summary: 'Whether events are on time and alerts reach people',
        description:
          '503 when they are not, with the reasons. About the account of the caller. A project that could not be read completely for three minutes is a reason, by its name.',
        access: 'signed_in',
        answer: z.looseObject({ healthy: z.boolean(), reasons: z.array(z.string()) }),
      },
      async ({ caller }, model) => {
        const [status, unpublished, channelReasons] = await Promise.all([
          deps.statusOf(model.accountId),
          model.unpublished(),
          deps.deafChannels(),
        ]);
        const health = healthOf({
          status,
          unpublished,
          channelReasons,
          nowMs: deps.clock.now(),
          maySee: (projectId) => maySee(caller, projectId),
        });
        return { status: health.healthy ? 200 : 503, body: health };
      },
    ),
    get(
      {
        id: 'getCaller',
        path: '/me',
        summary: 'Who you are here, and what you may do',
        access: 'signed_in',
        answer: z.looseObject({ client_id: z.string() }),
      },
      async ({ caller }) => ({
        status: 200,
        body: {
          client_id: caller.client_id,
          account_id: caller.account_id,
          scopes: SCOPES.filter((scope) => caller.scopes.has(scope)),
          project_ids: caller.projectIds === undefined ? null : [...caller.projectIds],
        },
      }),
    ),
    get(
      {
        id: 'listAccounts',
        path: '/accounts',
        summary: 'The accounts you can see, and how the poller is doing with them',
        access: 'signed_in',
        answer: z.looseObject({ accounts: z.array(z.looseObject({ account_id: z.string() })) }),
      },
      async ({ caller }, model) => {
        const status = await deps.statusOf(model.accountId);
        const unread = status?.unread_projects?.filter(({ project_id }) => maySee(caller, project_id));
        const account = { ...status, unread_projects: unread, account_id: model.accountId };
        return { status: 200, body: { accounts: [account] } };
      },
    ),
    get(
      {
        id: 'listTrackedProjects',
        path: '/projects',
        summary: 'Projects that the bridge watches',
        access: 'projects:read',
        query: z.strictObject({ limit, cursor }),
        answer: paged(z.looseObject({ project_id: z.string() }), 'projects'),
      },
      async ({ caller, query }, model) => {
        const page = await model.projects(query);
        const shown = page.items.filter(({ project_id }) => maySee(caller, project_id)).map(projectView);
        return { status: 200, body: { projects: shown, cursor: page.next } };
      },
    ),
    get(
      {
        id: 'listTrackedOperations',
        path: '/projects/{project_id}/operations',
        summary: 'Operations of a project, newest first',
        description: 'As the bridge last saw them. A page with filters may be short and still have a cursor.',
        access: 'operations:read',
        query: operationQuery,
        answer: paged(operationAnswer, 'operations'),
      },
      async ({ ids, query }, model) => listOperations(model, ids['project_id'] ?? '', query),
    ),
    get(
      {
        id: 'getTrackedOperation',
        path: '/projects/{project_id}/operations/{operation_id}',
        summary: 'One operation with its history; waits until it settles',
        description: `With wait=N (up to ${WAIT_SECONDS_MAX}) the answer comes when the operation has ended and its events are on the bus, or after N seconds as it is then. An operation that is not known yet is waited for as well.`,
        access: 'operations:read',
        query: z.strictObject({ wait }),
        answer: z.object({ operation: operationAnswer.extend({ history: z.array(eventAnswer) }) }),
      },
      async ({ caller, ids, query, signal }, model) => {
        const waitMs = query.wait * 1_000;
        const read = () => model.operation(ids['project_id'] ?? '', ids['operation_id'] ?? '');
        const isDone = (record: OperationRecord | undefined) => record !== undefined && isSettled(record);
        const record = await waitFor({
          read,
          isDone,
          waitMs,
          clock: deps.clock,
          signal,
          beginWait: () => deps.patient.wait(caller, waitMs),
        });
        if (record === undefined) throw notFound();
        return { status: 200, body: { operation: { ...operationView(record), history: eventsOf(record) } } };
      },
    ),
    {
      id: 'requestRead',
      method: 'POST',
      path: `${BRIDGE_MOUNT}/projects/{project_id}/read`,
      summary: 'Ask the poller for a fresh reading of a project',
      description:
        'It comes within seconds while the poller runs and others have not asked for more than a tenth of its requests; what it finds is told by events as usual. Asking again within the poll interval of the account changes nothing. A caller may ask 30 times a minute.',
      group: 'Bridge',
      limit: 'wishes',
      isAudited: false,
      access: 'operations:read',
      status: 202,
      answer: z.object({ requested: z.literal(true) }),
      async handle({ caller, ids }) {
        const model = await modelOf(caller);
        const projectId = ids['project_id'] ?? '';
        if ((await model.project(projectId)) === undefined) throw notFound();
        await model.requestRead(projectId, deps.pollIntervalMsOf(caller.account_id));
        return { status: 202, body: { requested: true } };
      },
    },
    get(
      {
        id: 'getCommand',
        path: '/projects/{project_id}/commands/{request_id}',
        summary: 'What became of a command',
        access: 'operations:read',
        answer: z.looseObject({ command: z.looseObject({ request_id: z.string() }) }),
      },
      async ({ ids }, model) => {
        const record = await model.command(ids['project_id'] ?? '', ids['request_id'] ?? '');
        if (record === undefined) throw notFound();
        const { request_id, client_id, project_id, call, sent_at, is_settled, operation_ids } = record;
        const command = {
          request_id,
          client_id,
          project_id,
          call,
          sent_at,
          settled: is_settled,
          operation_ids,
          events: eventsOf(record),
        };
        return { status: 200, body: { command } };
      },
    ),
    get(
      {
        id: 'listEvents',
        path: '/events',
        summary: 'Events as a feed: everything since a cursor, oldest first',
        description:
          'For reconciling what a rule or a queue lost. At least once: an event may come again with the same id. Without a cursor the feed begins with what is remembered (from=beginning) or with what comes next (from=now). With wait=N an empty answer is held back for up to N seconds.',
        access: 'operations:read',
        query: feedQuery,
        answer: z.object({ events: z.array(eventAnswer), cursor: z.string(), has_more: z.boolean() }),
      },
      async (request, model) => readFeed(deps, request, model),
    ),
    get(
      {
        id: 'listRecentEvents',
        path: '/events/recent',
        summary: 'The latest events, newest first',
        access: 'operations:read',
        query: recentQuery,
        answer: paged(eventAnswer, 'events'),
      },
      async ({ caller, query }, model) => {
        const { limit: most, cursor: from, ...filter } = query;
        const page = await model.feed.recent({ limit: most, cursor: from, filter });
        return { status: 200, body: { events: page.items.filter(isVisibleTo(caller)), cursor: page.next } };
      },
    ),
    get(
      {
        id: 'listAudit',
        path: '/audit',
        summary: 'Who asked for what, and what came of it, newest first',
        description:
          'Commands, sign-ins to the console, and reads that showed secrets, for 400 days. A page with filters may be short or empty and still have a cursor. Records that cannot be read are left out and counted in `unreadable`.',
        access: 'audit:read',
        query: auditQuery,
        answer: paged(auditAnswer, 'records').extend({ unreadable: z.number() }),
      },
      async ({ caller, query }, model) => {
        const { items, next, unreadable } = await readAudit(model, caller, query);
        return { status: 200, body: { records: items, cursor: next, unreadable } };
      },
    ),
  ];
}

function cursorProblem(error: unknown): never {
  if (error instanceof AppError && error.code === 'cursor_invalid')
    throw invalid([
      { field: 'query.cursor', reason: 'is not one that this list gave out; begin without one' },
    ]);
  throw error;
}
