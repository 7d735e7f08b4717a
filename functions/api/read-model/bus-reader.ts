/**
 * Reads how the bus delivers, from AWS itself: its rules and their targets, EventBridge's figures of each rule from
 * CloudWatch, and how many events lie in the dead-letter queues that the configuration lets the bridge see.
 */

import {
  EventBridgeClient,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  type Rule,
} from '@aws-sdk/client-eventbridge';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { HOUR_MS, isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { CALLS_END, forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { type EventTrail, readTrail } from './bus-log.ts';
import { callSigned, type SignedCalls } from './signed-call.ts';

export interface TargetReading {
  readonly id: string;
  readonly arn: string;
  readonly deadLetterArn: string | undefined;
}

export interface RuleReading {
  readonly name: string;
  readonly description: string | undefined;
  readonly isEnabled: boolean;
  /** A service of AWS, or the local run, owns the rule and takes care of its target. */
  readonly managedBy: string | undefined;
  readonly pattern: Readonly<Record<string, unknown>>;
  /** It is undefined when EventBridge did not name them. */
  readonly targets: readonly TargetReading[] | undefined;
  /** It is undefined when CloudWatch did not answer. */
  readonly figures: RuleFigures | undefined;
}

/** The number of messages, or why it is not known. */
export type QueueReading = { readonly messageCount: number } | { readonly unseen: string };

export interface BusReading {
  readonly readAtMs: number;
  readonly rules: readonly RuleReading[];
  /** The bus has so many further rules, which were not looked at. */
  readonly furtherRuleCount: number;
  /** The keys are ARNs: of each dead-letter queue that a target names. */
  readonly queues: ReadonlyMap<string, QueueReading>;
  /** Each sentence says what could not be read. */
  readonly faults: readonly string[];
}

export interface BusReader {
  /** Never rejects because AWS refuses: the reading then says so. */
  read(): Promise<BusReading>;
  /** Resolves to what the log of the bus has of the event with this id of EventBridge. Never rejects because AWS refuses. */
  follow(eventId: string): Promise<EventTrail>;
  /** Tries each call once, for the self-test. */
  readonly probes: readonly { readonly call: string; readonly attempt: () => Promise<unknown> }[];
}

export interface BusReaderSettings {
  readonly busName: string;
  /** The bridge may see queues with these ARNs. An asterisk stands for any text. */
  readonly deadLetterQueues: readonly string[];
  /** The address of any queue of this deployment, from which those of the others follow. */
  readonly queueUrl: string;
  /** The configuration asks for the log of the bus. */
  readonly hasLog: boolean;
  readonly clock: Clock;
}

const CALLS_AT_ONCE = 5;

const NO_EVENT = '00000000-0000-0000-0000-000000000000';

export function createBusReader(settings: BusReaderSettings): BusReader {
  const { busName, deadLetterQueues, queueUrl, hasLog, clock } = settings;
  const eventBridge = new EventBridgeClient(CALLS_END);
  const sqs = new SQSClient(CALLS_END);
  const { origin } = new URL(queueUrl);
  const calls = {
    signer: () => eventBridge.config.signer(),
    originOf: (service: string) => origin.replace('//sqs.', `//${service}.`),
    clock,
  };
  const isVisible = (arn: string) => deadLetterQueues.some((pattern) => isLike(pattern, arn));
  const countAt = async (url: URL) => {
    const request = { QueueUrl: url.href, AttributeNames: ['ApproximateNumberOfMessages' as const] };
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand(request));
    return Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0);
  };
  const countOf = (arn: string) => {
    const [, , , , account, name] = arn.split(':');
    return countAt(new URL(`/${account}/${name}`, queueUrl));
  };
  return {
    async read() {
      const faults: string[] = [];
      const noting =
        <Value>(what: string, otherwise: Value) =>
        (error: unknown) => {
          faults.push(`${what} cannot be read (${toError(error).name}).`);
          return otherwise;
        };
      const listed = await listRules(eventBridge, busName).catch(noting('The rules of the bus', []));
      const looked = listed.slice(0, RULES_WITH_FIGURES_MAX);
      const names = looked.map(({ Name = '' }) => Name);
      const [figures, targets] = await Promise.all([
        readRuleFigures(calls, busName, names).catch(noting("EventBridge's figures", undefined)),
        readTargets(eventBridge, busName, names),
      ]);
      const { found, unread } = targets;
      if (unread[0] !== undefined)
        noting(
          `The targets of ${unread.length === 1 ? '1 rule' : `${unread.length} rules`}`,
          undefined,
        )(unread[0]);
      const rules = looked.map((rule) =>
        readingOf(rule, found.get(rule.Name ?? ''), figures?.get(rule.Name ?? '')),
      );
      const queues = await readQueues(rules, isVisible, countOf);
      const furtherRuleCount = listed.length - looked.length;
      return { readAtMs: clock.now(), rules, furtherRuleCount, queues, faults };
    },
    async follow(eventId) {
      if (!hasLog) return { kind: 'off' };
      return readTrail(calls, busName, eventId).catch((error: unknown) => ({
        kind: 'unread' as const,
        reason: toError(error).name,
      }));
    },
    probes: [
      { call: 'events:ListRules of the bus', attempt: () => listRules(eventBridge, busName) },
      {
        call: 'events:ListTargetsByRule of the first rule',
        attempt: async () => {
          const [first] = await listRules(eventBridge, busName);
          if (first?.Name !== undefined) await targetsOf(eventBridge, busName, first.Name);
        },
      },
      {
        call: 'cloudwatch:GetMetricData of the bus',
        attempt: () => readRuleFigures(calls, busName, [busName]),
      },
      {
        call: `sqs:GetQueueAttributes of ${busName}-undelivered`,
        attempt: () => countAt(new URL(`./${busName}-undelivered`, queueUrl)),
      },
      ...(hasLog
        ? [{ call: 'logs:FilterLogEvents of the bus', attempt: () => readTrail(calls, busName, NO_EVENT) }]
        : []),
    ],
  };
}

/** A bus has 300 rules by default, which are three pages. Further pages are not asked for. */
const PAGES_MAX = 10;

async function listRules(client: EventBridgeClient, EventBusName: string): Promise<readonly Rule[]> {
  const rules: Rule[] = [];
  let NextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await client.send(new ListRulesCommand({ EventBusName, ...(NextToken && { NextToken }) }));
    rules.push(...(answer.Rules ?? []));
    NextToken = answer.NextToken;
    if (NextToken === undefined) break;
  }
  return rules;
}

/** A rule can be deleted after the rules were listed, so what is refused of one is no reason to know nothing of the others. */
async function readTargets(client: EventBridgeClient, EventBusName: string, names: readonly string[]) {
  const found = new Map<string, readonly TargetReading[]>();
  const unread: unknown[] = [];
  await forEachConcurrently(names, CALLS_AT_ONCE, async (Rule) => {
    await targetsOf(client, EventBusName, Rule).then(
      (targets) => found.set(Rule, targets),
      (error: unknown) => unread.push(error),
    );
  });
  return { found, unread };
}

async function targetsOf(
  client: EventBridgeClient,
  EventBusName: string,
  Rule: string,
): Promise<readonly TargetReading[]> {
  const { Targets = [] } = await client.send(new ListTargetsByRuleCommand({ EventBusName, Rule }));
  return Targets.map(({ Id = '', Arn = '', DeadLetterConfig }) => ({
    id: Id,
    arn: Arn,
    deadLetterArn: DeadLetterConfig?.Arn,
  }));
}

function readingOf(
  { Name = '', Description, State, ManagedBy, EventPattern = '{}' }: Rule,
  targets: RuleReading['targets'],
  figures: RuleFigures | undefined,
): RuleReading {
  return {
    name: Name,
    description: Description,
    isEnabled: State !== 'DISABLED',
    managedBy: ManagedBy,
    pattern: JSON.parse(EventPattern) as RuleReading['pattern'],
    targets,
    figures,
  };
}

async function readQueues(
  rules: readonly RuleReading[],
  isVisible: (arn: string) => boolean,
  countOf: (arn: string) => Promise<number>,
): Promise<ReadonlyMap<string, QueueReading>> {
  const named = rules.flatMap(({ targets = [] }) =>
    targets.flatMap(({ deadLetterArn = [] }) => deadLetterArn),
  );
  const queues = new Map<string, QueueReading>();
  await forEachConcurrently([...new Set(named)], CALLS_AT_ONCE, async (arn) => {
    const reading = isVisible(arn)
      ? await countOf(arn).then(
          (messageCount) => ({ messageCount }),
          (error: unknown) => ({ unseen: `SQS answered ${toError(error).name}` }),
        )
      : { unseen: 'not visible from here' };
    queues.set(arn, reading);
  });
  return queues;
}

function isLike(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}

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
interface RuleFigures extends Readonly<Record<Figure, number>> {
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
async function readRuleFigures(
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
