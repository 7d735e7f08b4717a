/** Reads EventBridge's figures of rules from CloudWatch: what each rule was sent, what failed, and when it last failed. */

import * as z from 'zod';
import { HOUR_MS, isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import { callSigned, type SignedCalls } from './signed-call.ts';

/** The names that CloudWatch has for the figures (EventBridge User Guide, "EventBridge metrics"). */
const METRICS = {
  invoked_count: 'Invocations',
  failed_count: 'FailedInvocations',
  dead_letter_count: 'InvocationsSentToDlq',
  lost_count: 'InvocationsFailedToBeSentToDlq',
  repeated_count: 'RetryInvocationAttempts',
  throttled_count: 'ThrottledRules',
} as const;

type Figure = keyof typeof METRICS;

const FIGURES = Object.keys(METRICS) as readonly Figure[];

/** Counts of the last 24 hours. */
export interface RuleFigures extends Readonly<Record<Figure, number>> {
  /** A delivery was given up in the quarter of an hour that began at this time (ISO 8601). */
  readonly last_failed_at: string | undefined;
}

/** One request takes 500 figures (API Reference, GetMetricData), so further rules have none. */
export const RULES_WITH_FIGURES_MAX = Math.floor(500 / FIGURES.length);

const FIGURES_MS = 24 * HOUR_MS;
const PERIOD_MS = 15 * MINUTE_MS;

const GET_METRIC_DATA = {
  service: 'monitoring',
  target: 'GraniteServiceVersion20100801.GetMetricData',
  json: '1.0',
} as const;

const answer = z.object({
  MetricDataResults: z.array(
    z.object({ Id: z.string(), Timestamps: z.array(z.number()), Values: z.array(z.number()) }),
  ),
});

type Series = z.output<typeof answer>['MetricDataResults'][number];

/** The keys are names of rules. Rejects when CloudWatch refuses. */
export async function readRuleFigures(
  calls: SignedCalls,
  busName: string,
  ruleNames: readonly string[],
): Promise<ReadonlyMap<string, RuleFigures>> {
  if (ruleNames.length === 0) return new Map();
  const endSeconds = Math.ceil(calls.clock.now() / 1_000);
  const queries = ruleNames.flatMap((ruleName, place) =>
    FIGURES.map((figure) => queryOf(`${figure}_${place}`, METRICS[figure], [busName, ruleName])),
  );
  const body = {
    StartTime: endSeconds - FIGURES_MS / 1_000,
    EndTime: endSeconds,
    MetricDataQueries: queries,
  };
  const { MetricDataResults } = answer.parse(await callSigned(calls, GET_METRIC_DATA, body));
  const byId = new Map(MetricDataResults.map((series) => [series.Id, series]));
  return new Map(ruleNames.map((name, place) => [name, figuresIn(byId, place)]));
}

function queryOf(id: string, MetricName: string, [busName, ruleName]: readonly [string, string]): object {
  const Dimensions = [
    { Name: 'EventBusName', Value: busName },
    { Name: 'RuleName', Value: ruleName },
  ];
  const Metric = { Namespace: 'AWS/Events', MetricName, Dimensions };
  return { Id: id, MetricStat: { Metric, Period: PERIOD_MS / 1_000, Stat: 'Sum' } };
}

function figuresIn(byId: ReadonlyMap<string, Series>, place: number): RuleFigures {
  const seriesOf = (figure: Figure) => byId.get(`${figure}_${place}`);
  const counts = Object.fromEntries(
    FIGURES.map((figure) => [figure, (seriesOf(figure)?.Values ?? []).reduce((sum, each) => sum + each, 0)]),
  ) as Record<Figure, number>;
  const failures = (['failed_count', 'dead_letter_count', 'lost_count'] as const).flatMap((figure) => {
    const { Timestamps = [], Values = [] } = seriesOf(figure) ?? {};
    return Timestamps.filter((_, at) => (Values[at] ?? 0) > 0);
  });
  const last = failures.length === 0 ? undefined : isoTimeOf(Math.max(...failures) * 1_000);
  return { ...counts, last_failed_at: last };
}
