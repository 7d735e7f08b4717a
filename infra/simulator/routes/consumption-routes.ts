/** Handles the call of the consumption history of projects, and cuts its span of time into frames (public contract). */

import * as z from 'zod';
import { activeSecondsOf, type WorldProject } from '../world/project-state.ts';
import type { World } from '../world/world.ts';
import { type Handlers, isOwn, outsideScope, refusal, type UpstreamContext, withQuery } from './requests.ts';
import { COMPUTE_UNITS_MIN, projectPage, wholeSeconds } from './rows.ts';

const time = z.iso.datetime({ offset: true });
const query = z.object({
  from: time,
  to: time,
  granularity: z.enum(['hourly', 'daily', 'monthly']),
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, 'must be between 1 and 100')
    .default('10'),
  cursor: z.string().optional(),
  org_id: z.string().optional(),
  project_ids: z.string().optional(),
});

export function consumptionHandlers({ world }: { readonly world: World }): Handlers {
  return {
    getProjectConsumption: withQuery(query, (c, asked) => {
      const { projectId } = c.get('principal');
      return projectId === undefined ? list(c, world, asked) : outsideScope(c, projectId);
    }),
  };
}

function list(
  c: UpstreamContext,
  world: World,
  { from, to, granularity, limit, cursor, org_id, project_ids }: z.output<typeof query>,
): Response {
  const frames = timeFrames({ fromMs: Date.parse(from), toMs: Date.parse(to), granularity });
  if (frames.kind === 'invalid') return refusal(c, 400, `invalid request: ${frames.message}`);
  const named = project_ids === undefined ? undefined : new Set(project_ids.split(','));
  const projects = world
    .projects()
    .filter(
      (project) =>
        isOwn(c, project) &&
        (org_id === undefined || project.settings.organizationId === org_id) &&
        (named?.has(project.id) ?? true),
    );
  const page = projectPage(projects, { limit, cursor });
  if (page.kind === 'invalid') return refusal(c, 400, page.message);
  const rows = page.items.map((project) => consumptionRow(project, frames.frames, world.nowMs));
  return c.json({
    projects: rows,
    ...(page.cursor !== undefined && { pagination: { cursor: page.cursor } }),
  });
}

/** A project is in one plan for all of its life, so it has one period. */
function consumptionRow(project: WorldProject, frames: readonly TimeFrame[], nowMs: number): object {
  const begun = frames.filter(({ toMs, fromMs }) => toMs > project.created_at_ms && fromMs < nowMs);
  return {
    project_id: project.id,
    periods: [
      {
        period_id: project.periodId,
        period_plan: project.plan.subscriptionType,
        period_start: wholeSeconds(project.created_at_ms),
        consumption: begun.map((frame) => frameRow(project, frame, nowMs)),
      },
    ],
  };
}

function frameRow({ activeSpans }: WorldProject, { fromMs, toMs }: TimeFrame, nowMs: number): object {
  const untilMs = Math.min(toMs, nowMs);
  const seconds = activeSecondsOf({ activeSpans }, untilMs) - activeSecondsOf({ activeSpans }, fromMs);
  return {
    timeframe_start: wholeSeconds(fromMs),
    timeframe_end: wholeSeconds(toMs),
    active_time_seconds: seconds,
    compute_time_seconds: Math.floor(seconds * COMPUTE_UNITS_MIN),
    written_data_bytes: 0,
    synthetic_storage_size_bytes: 0,
  };
}

type Granularity = 'hourly' | 'daily' | 'monthly';

/** Both ends are milliseconds since the epoch. */
interface TimeFrame {
  readonly fromMs: number;
  readonly toMs: number;
}

type TimeFrames =
  | { readonly kind: 'frames'; readonly frames: readonly TimeFrame[] }
  | { readonly kind: 'invalid'; readonly message: string };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A history is at most this long: a week by the hour, sixty days by the day, a year by the month. */
const SPAN_MS_MAX: Readonly<Record<Granularity, number>> = {
  hourly: 7 * DAY_MS,
  daily: 60 * DAY_MS,
  monthly: 366 * DAY_MS,
};

/** Frames begin at whole hours, days or months in UTC, and the first one contains the beginning of the span. */
function timeFrames({
  fromMs,
  toMs,
  granularity,
}: TimeFrame & { readonly granularity: Granularity }): TimeFrames {
  if (toMs <= fromMs) return { kind: 'invalid', message: 'to: must be later than from' };
  if (toMs - fromMs > SPAN_MS_MAX[granularity])
    return { kind: 'invalid', message: `from: is too long ago for the granularity ${granularity}` };
  const frames: TimeFrame[] = [];
  for (let startMs = beginOf(fromMs, granularity); startMs < toMs; ) {
    const endMs = nextAfter(startMs, granularity);
    frames.push({ fromMs: startMs, toMs: endMs });
    startMs = endMs;
  }
  return { kind: 'frames', frames };
}

function beginOf(atMs: number, granularity: Granularity): number {
  const at = new Date(atMs);
  if (granularity === 'monthly') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
  const lengthMs = granularity === 'daily' ? DAY_MS : HOUR_MS;
  return Math.floor(atMs / lengthMs) * lengthMs;
}

function nextAfter(startMs: number, granularity: Granularity): number {
  const start = new Date(startMs);
  if (granularity === 'monthly') return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
  return startMs + (granularity === 'daily' ? DAY_MS : HOUR_MS);
}
