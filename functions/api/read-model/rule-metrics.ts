/**
 * Reads EventBridge's figures of rules from CloudWatch: what each rule was sent, what failed, and when it last failed. The signer
 * of the client of EventBridge signs the one call, because an SDK for it would be larger than everything else that the page needs.
 */

import * as z from 'zod';
import { HOUR_MS, isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';

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

/** CloudWatch answers in some hundred milliseconds. */
const ANSWER_MS_MAX = 5_000;

interface Request {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Signs for any service of AWS, as the client of each has it. */
interface Signer {
  sign(
    request: Request,
    options: { readonly signingService: string; readonly signingDate: Date },
  ): Promise<{ readonly headers: Record<string, string> }>;
}

export interface MetricsDeps {
  readonly signer: () => Promise<Signer>;
  /** The address of CloudWatch, without a path. */
  readonly origin: string;
  readonly clock: Clock;
}

const answer = z.object({
  MetricDataResults: z.array(
    z.object({ Id: z.string(), Timestamps: z.array(z.number()), Values: z.array(z.number()) }),
  ),
});

type Series = z.output<typeof answer>['MetricDataResults'][number];

/** The keys are names of rules. Rejects when CloudWatch refuses. */
export async function readRuleFigures(
  deps: MetricsDeps,
  busName: string,
  ruleNames: readonly string[],
): Promise<ReadonlyMap<string, RuleFigures>> {
  if (ruleNames.length === 0) return new Map();
  const endSeconds = Math.ceil(deps.clock.now() / 1_000);
  const queries = ruleNames.flatMap((ruleName, place) =>
    FIGURES.map((figure) => queryOf(`${figure}_${place}`, METRICS[figure], [busName, ruleName])),
  );
  const body = {
    StartTime: endSeconds - FIGURES_MS / 1_000,
    EndTime: endSeconds,
    MetricDataQueries: queries,
  };
  const { MetricDataResults } = answer.parse(await askCloudWatch(deps, JSON.stringify(body)));
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

async function askCloudWatch(deps: MetricsDeps, body: string): Promise<unknown> {
  const { protocol, hostname, host } = new URL(deps.origin);
  const headers = {
    host,
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': 'GraniteServiceVersion20100801.GetMetricData',
  };
  const request = { method: 'POST', protocol, hostname, path: '/', headers, body };
  const signer = await deps.signer();
  const signed = await signer.sign(request, {
    signingService: 'monitoring',
    signingDate: new Date(deps.clock.now()),
  });
  const response = await fetch(deps.origin, {
    method: 'POST',
    headers: signed.headers,
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  const json: unknown = await response.json();
  if (response.ok) return json;
  const type = String(Object(json)['__type'] ?? response.status).replace(/^.*#/, '');
  throw Object.assign(new Error(`CloudWatch answered ${response.status}.`), { name: type });
}
