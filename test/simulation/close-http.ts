/** Answers as the upstream of the close world does, behind the port of HTTP, with the faults of networks and services. */

import type { HttpAnswer, HttpRequest, SendHttp } from '../../shared/upstream/pooled-http.ts';
import type { FaultKind } from './options.ts';
import type { Process } from './scheduler.ts';
import type { UpstreamModel } from './upstream-model.ts';
import { httpAnswer, inTime, whole } from './wide/upstream/http-answer.ts';
import type { World } from './world.ts';

/** A status of 0 stands for a connection that breaks, and 200 for an answer that is not what it should be. */
const FAULTS: readonly (readonly [FaultKind, number])[] = [
  ['upstream_rate_limited', 429],
  ['upstream_unavailable', 503],
  ['upstream_network', 0],
  ['upstream_malformed', 200],
  ['upstream_not_found', 404],
  ['upstream_unauthorized', 401],
];

interface Answered {
  readonly status: number;
  readonly body: object;
}

export function createCloseHttp(world: World, model: UpstreamModel, owner: Process): SendHttp {
  const clock = world.scheduler.clockOf(owner);
  return (request) => {
    const sent = world.listener.sent(owner);
    return inTime(clock, request, () => world.call(owner, () => exchange(sent, request)));
  };

  function exchange(sent: ReturnType<typeof world.listener.sent>, { method, url }: HttpRequest): HttpAnswer {
    const fault = FAULTS.find(([kind]) => world.strikes(kind));
    const { status, body } = fault === undefined ? answerTo(url) : { status: fault[1], body: {} };
    if (status === 0) throw new TypeError('fetch failed');
    const text = fault !== undefined && status === 200 ? '<html>Please sign in</html>' : JSON.stringify(body);
    const date = new Date(world.scheduler.now() + dateErrorMs()).toUTCString();
    if (fault === undefined) world.listener.answered(sent, { method, url, status, date, body: () => body });
    return httpAnswer(status, { 'content-type': 'application/json', date }, whole(text));
  }

  function dateErrorMs(): number {
    if (world.strikes('date_ahead')) {
      const aheadMs = errorMs();
      // Nobody can tell that two clocks are wrong alike.
      return owner.clockSkewMs > 0 ? 0 : aheadMs;
    }
    return world.strikes('date_behind') ? -errorMs() : 0;
  }

  /** Each order of size between ten minutes and a year is as likely as the others. */
  function errorMs(): number {
    const [shortestMs, longestMs] = [600_000, 365 * 86_400_000];
    return shortestMs * (longestMs / shortestMs) ** world.foreign.next();
  }

  /** A replica answers with what was true some seconds ago. */
  function asOfMs(kind: FaultKind): number {
    const lagMs = world.strikes(kind) ? world.foreign.next() * world.options.overlapMs : 0;
    return world.scheduler.now() - lagMs;
  }

  function answerTo(url: URL): Answered {
    const [projectId, , id] = url.pathname.split('/').slice(4);
    const kind = url.pathname.split('/')[5];
    if (projectId === undefined) return listProjects(url.searchParams.get('cursor') ?? undefined);
    if (kind !== 'operations') return { status: 404, body: {} };
    if (id !== undefined) {
      const operation = model.read(id, asOfMs('read_lags'));
      return operation === undefined ? { status: 404, body: {} } : { status: 200, body: { operation } };
    }
    const cursor = url.searchParams.get('cursor');
    const limit = Number(url.searchParams.get('limit') ?? 1_000);
    const page = model.list(projectId, { limit, ...(cursor !== null && { cursor }) }, asOfMs('list_lags'));
    const pagination = page.cursor === undefined ? {} : { pagination: { cursor: page.cursor } };
    return { status: 200, body: { operations: page.operations, ...pagination } };
  }

  function listProjects(cursor: string | undefined): Answered {
    const there = model.projectIds.filter((id) => cursor === undefined || id > cursor);
    const isPartial = there.length > 0 && world.strikes('upstream_partial_projects');
    const shown = isPartial ? there.slice(1) : there;
    const last = there.at(-1);
    return {
      status: 200,
      body: {
        projects: shown.map((id) => ({ id, name: id, created_at: '2026-01-01T00:00:00Z' })),
        unavailable_project_ids: isPartial ? there.slice(0, 1) : [],
        ...(last !== undefined && { pagination: { cursor: last } }),
      },
    };
  }
}
