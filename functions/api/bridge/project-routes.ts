/**
 * Serves the projects that the bridge watches, and how long operations usually take and how many attempts they need,
 * for the account and for each project.
 */

import * as z from 'zod';
import { maySee } from '../../../shared/callers/scopes.ts';
import {
  type ActionInsight,
  INSIGHT_DAYS,
  insightDays,
  insightsOf,
  OPERATIONS_MIN,
} from '../../../shared/insights/day-insights.ts';
import type { ProjectRecord } from '../../../shared/records/project-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { ReadModel } from '../read-model/read-model.ts';
import type { ApiAnswer, Route } from '../serving/route.ts';
import { cursor, filterText, limit, type ModelOf, paged, readRoute } from './bridge-route.ts';

export function projectRoutes(modelOf: ModelOf): readonly Route[] {
  return [
    readRoute(
      modelOf,
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
  ];
}

function projectView({ project_id, is_visible, bound }: ProjectRecord): object {
  return { project_id, visible: is_visible, read_up_to: bound };
}

const quantiles = z.object({
  p50: z.number().describe('Half of the operations needed at most this.'),
  p95: z.number().describe('95 of 100 needed at most this.'),
  p99: z.number().describe('99 of 100 needed at most this.'),
});

const actionInsight = z.object({
  action: z.string(),
  operation_count: z.number().describe('This many operations have ended.'),
  duration_ms: quantiles.describe('From creation to end, by the times of the upstream; within 2 %.'),
  attempts: quantiles.describe('1 is an operation that never failed.'),
});

const insightAnswer = z.object({
  from_day: z.string().describe('The first day, by UTC.'),
  to_day: z.string().describe('The last day, which is the present one.'),
  actions: z.array(actionInsight),
});

const insightQuery = z.strictObject({ action: filterText.describe('Only this action.') });

const COUNTED = `They rest on the operations that ended as finished or error on the last ${INSIGHT_DAYS} days, and on the history that the bridge read. An action with fewer than ${OPERATIONS_MIN} of them is not shown. A new figure can take ten minutes to appear for the account, and six hours for a project in which little happens.`;

export function insightRoutes(modelOf: ModelOf, clock: Clock): readonly Route[] {
  const common = { access: 'operations:read', query: insightQuery, answer: insightAnswer } as const;
  return [
    readRoute(
      modelOf,
      {
        ...common,
        id: 'getInsights',
        path: '/insights',
        summary: 'How long operations of the account usually take, by action',
        description: COUNTED,
        isAccountWide: true,
      },
      async (request, model) => showInsights(model, undefined, request.query, clock.now()),
    ),
    readRoute(
      modelOf,
      {
        ...common,
        id: 'getProjectInsights',
        path: '/projects/{project_id}/insights',
        summary: 'How long operations of a project usually take, by action',
        description: COUNTED,
      },
      async ({ ids, query: wanted }, model) =>
        showInsights(model, ids['project_id'] ?? '', wanted, clock.now()),
    ),
  ];
}

async function showInsights(
  model: ReadModel,
  projectId: string | undefined,
  { action }: z.output<typeof insightQuery>,
  nowMs: number,
): Promise<ApiAnswer> {
  const insights = insightsOf(await model.endedDays(projectId));
  const shown = insights.filter((insight) => action === undefined || insight.action === action);
  const days = insightDays(nowMs);
  return {
    status: 200,
    body: { from_day: days[0], to_day: days.at(-1), actions: shown.map(insightView) },
  };
}

function insightView({ action, durationMs, attempts }: ActionInsight): z.output<typeof actionInsight> {
  const { count, ...duration_ms } = durationMs;
  const { count: _same, ...needed } = attempts;
  return { action, operation_count: count, duration_ms, attempts: needed };
}
