/** Serves what projects have used in their billing period, each by itself and all together, and what that costs. */

import * as z from 'zod';
import { maySee } from '../../../shared/callers/scopes.ts';
import { computeHoursByDay, USAGE_METRICS, type Usage } from '../../../shared/records/usage.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import type { Route } from '../serving/route.ts';
import { cursor, limit, type ModelOf, paged, readRoute } from './bridge-route.ts';

const used = z.number().optional();

const usageAnswer = z.object({
  resets_at: z.string().describe('The billing period ends then.'),
  read_at: z
    .string()
    .describe('The figures were read then; without a history that is when a threshold was reached.'),
  active_time_seconds: used,
  compute_time_seconds: used.describe('Active time, times the size of the compute in compute units.'),
  estimated_price: z
    .number()
    .optional()
    .describe('The compute time so far at the configured price of an hour; absent without one.'),
  limits: z.array(
    z.object({
      metric: z.enum(USAGE_METRICS),
      limit: z.number(),
      limit_from: z.enum(['quota', 'configuration']),
      percent: z.number().describe('The share that is used, cut to a whole number.'),
      told_percent: z.number().optional().describe('The highest threshold that was told in this period.'),
    }),
  ),
  compute_hours_by_day: z
    .array(z.object({ day: z.string(), hours: z.number() }))
    .describe('By days of UTC on which the history was written; empty without one.'),
});

export type UsageView = z.output<typeof usageAnswer>;

const answer = paged(z.looseObject({ project_id: z.string(), ...usageAnswer.shape }), 'projects').extend({
  account: usageAnswer.optional().describe('All projects together, for callers who may see all of them.'),
});

export interface UsageDeps {
  /** Returns the price of an hour of one compute unit, and undefined when the configuration has none. */
  readonly unitHourPriceOf: (accountId: string) => number | undefined;
}

export function usageRoutes(modelOf: ModelOf, { unitHourPriceOf }: UsageDeps): readonly Route[] {
  return [
    readRoute(
      modelOf,
      {
        id: 'listUsage',
        path: '/usage',
        summary: 'What projects have used in their billing period',
        description:
          'The figures are those of the project list, and cost no request. `usage.keeps_history` of the account keeps them, at most six hours old; otherwise a project stands here once a threshold was reached. A page looks at `limit` projects and leaves out those of which nothing is kept.',
        access: 'projects:read',
        query: z.strictObject({ limit, cursor }),
        answer,
      },
      async ({ caller, query }, model) => {
        const price = unitHourPriceOf(caller.account_id);
        const isFirst = query.cursor === undefined && caller.projectIds === undefined;
        const [page, account] = await Promise.all([
          model.projects(query),
          isFirst ? unlessUnreadable(model.account()) : undefined,
        ]);
        const projects = page.items.flatMap(({ project_id, usage }) =>
          usage !== undefined && maySee(caller, project_id) ? { project_id, ...usageView(usage, price) } : [],
        );
        const all = account?.usage && { account: usageView(account.usage, price) };
        return { status: 200, body: { ...all, projects, cursor: page.next } };
      },
    ),
  ];
}

export function usageView(usage: Usage, unitHourPrice: number | undefined): UsageView {
  const { days: _days, limits, ...figures } = usage;
  const { compute_time_seconds: seconds } = figures;
  const hasPrice = unitHourPrice !== undefined && seconds !== undefined;
  return {
    ...figures,
    ...(hasPrice && { estimated_price: Math.round((seconds / 3_600) * unitHourPrice * 100) / 100 }),
    limits: limits.map(({ told, ...each }) => ({
      ...each,
      percent: Math.floor((100 * (usage[each.metric] ?? 0)) / each.limit),
      ...(told && { told_percent: told.threshold_percent }),
    })),
    compute_hours_by_day: [...computeHoursByDay(usage)],
  };
}
