/**
 * Compares alarms with what the code really writes: names, dimensions, units and values, through the embedded metric
 * format.
 */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import example from '../../bridge.config.example.ts';
import { REQUEST_MS_MAX } from '../../functions/api/serving/serve-route.ts';
import { WORK_MS_MAX } from '../../functions/commands/invocation.ts';
import { SEND_BUDGET_MS } from '../../functions/notifier/environment.ts';
import { ALARM_COUNT } from '../../infra/cli/docs/cost-docs.ts';
import { functionDefinitions } from '../../infra/functions.ts';
import { nameFaults } from '../../shared/events/subscription/subscription.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import { METRIC_NAMESPACE, type MetricName, metricUnits } from '../../shared/runtime/telemetry.ts';
import { type Resource, type Synthesized, synthesize } from './stack-under-test.ts';

let stack: Synthesized;
beforeAll(() => {
  stack = synthesize();
});

const alarms = (): Resource[] => stack.ofType('AWS::CloudWatch::Alarm');
const nameOf = ({ Properties }: Resource) => String(Properties.AlarmName).replace('operations-bridge-', '');

interface Emitted {
  readonly namespace: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly name: string;
  readonly value: number;
}

/** Returns the lines that production's telemetry writes of values that are measured in one invocation. */
function linesOf(bridgeName: string, metric: MetricName, values: readonly number[]): readonly string[] {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    lines.push(
      ...String(chunk)
        .split('\n')
        .filter((line) => line.startsWith('{')),
    );
    return true;
  });
  const telemetry = createPowertoolsTelemetry({ functionName: 'poller', bridgeName, accountId: 'main' });
  for (const value of values) telemetry.measure(metric, value);
  telemetry.flush();
  spy.mockRestore();
  return lines;
}

/** Derives the metrics that CloudWatch makes of these lines. */
function emit(bridgeName: string, metric: MetricName, values: readonly number[]): readonly Emitted[] {
  return linesOf(bridgeName, metric, values).flatMap((line) => {
    const record = JSON.parse(line) as Record<string, unknown> & {
      _aws: {
        CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[];
      };
    };
    return record['_aws'].CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Metrics.flatMap(({ Name }) =>
        Dimensions.flatMap((names) =>
          [record[Name]].flat().map((each) => ({
            namespace: Namespace,
            dimensions: Object.fromEntries(names.map((each_) => [each_, String(record[each_])])),
            name: Name,
            value: Number(each),
          })),
        ),
      ),
    );
  });
}

interface Watched {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, unknown>>;
}

interface Watch {
  readonly alarm: string;
  readonly threshold: number;
  readonly isBelow: boolean;
  /** It is a percentile rank for the objective, and plain otherwise. */
  readonly statistic: string;
  /** The expression is arithmetic over the ids of `metrics`. */
  readonly expression: string;
  readonly metrics: readonly Watched[];
}

// biome-ignore lint/suspicious/noExplicitAny: a resource of the template
type Template = any;

/**
 * Reads what an alarm watches: the template has one form for a single metric and another for arithmetic over several.
 */
function watchOf(alarm: Resource): Watch {
  const { Properties } = alarm;
  const dimensionsOf = (list: { Name: string; Value: unknown }[]) =>
    Object.fromEntries(list.map(({ Name, Value }) => [Name, Value]));
  const watched = (id: string, { Namespace, MetricName: name, Dimensions }: Template): Watched => ({
    id,
    namespace: Namespace,
    name,
    dimensions: dimensionsOf(Dimensions),
  });
  const queries: Template[] = Properties.Metrics ?? [];
  const whole = {
    alarm: nameOf(alarm),
    threshold: Properties.Threshold as number,
    isBelow: Properties.ComparisonOperator === 'LessThanThreshold',
    statistic: String(Properties.ExtendedStatistic ?? Properties.Statistic),
  };
  if (queries.length === 0) return { ...whole, expression: 'm', metrics: [watched('m', Properties)] };
  return {
    ...whole,
    expression: queries.find(({ Expression }) => Expression !== undefined).Expression,
    metrics: queries.flatMap(({ Id, MetricStat }) => (MetricStat ? watched(Id, MetricStat.Metric) : [])),
  };
}

/**
 * Returns true when the alarm would fire. CloudWatch matches a metric by namespace, name and exactly these
 * dimensions; without data it has no value.
 */
function sees(watch: Watch, emitted: readonly Emitted[]): boolean {
  const { metrics, threshold, isBelow, statistic } = watch;
  const own = emitted.filter(
    ({ namespace, name, dimensions }) =>
      namespace === metrics[0]?.namespace &&
      name === metrics[0].name &&
      isSame(dimensions, metrics[0].dimensions),
  );
  if (own.length === 0) return false;
  const value = statisticOf(
    statistic,
    own.map(({ value: each }) => each),
  );
  return isBelow ? value < threshold : value > threshold;
}

/** Computes a statistic as CloudWatch does. `PR(:x)` is the percentage of the values that are at most `x`. */
function statisticOf(statistic: string, values: readonly number[]): number {
  const rank = /^PR\(:(\d+)\)$/.exec(statistic)?.[1];
  if (rank !== undefined)
    return (100 * values.filter((value) => value <= Number(rank)).length) / values.length;
  return statistic === 'Maximum' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

function isSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

const isOwn = ({ metrics }: Watch) => metrics.every(({ namespace }) => namespace === METRIC_NAMESPACE);

test('no subscriber can have a name by which its alarm would be one of the bridge', () => {
  const named = alarms().flatMap((alarm) => /^(.+)-dead-letters$/.exec(nameOf(alarm))?.[1] ?? []);

  expect(named.toSorted()).toEqual(['alerts', 'commands']);
  expect(named.filter((name) => nameFaults(name, 'operations-bridge').length === 0)).toEqual([]);
});

describe('an alarm on a metric of the bridge', () => {
  const own = () => alarms().map(watchOf).filter(isOwn);
  const named = (watch: Watch) => watch.metrics[0]?.name as MetricName;

  test('fires on a value that the code emits above its threshold, and not at the threshold or for another bridge', () => {
    const plain = own().filter(({ isBelow }) => !isBelow);

    expect(plain).toHaveLength(15);
    for (const watch of plain) {
      const { alarm, threshold } = watch;

      expect([alarm, sees(watch, emit('operations-bridge', named(watch), [threshold + 1]))]).toEqual([
        alarm,
        true,
      ]);
      expect([alarm, sees(watch, emit('operations-bridge', named(watch), [threshold]))]).toEqual([
        alarm,
        false,
      ]);
      expect([alarm, sees(watch, emit('another', named(watch), [threshold + 1]))]).toEqual([alarm, false]);
    }
  });

  test('about the objective fires when too small a share of the events came within a minute', () => {
    const [watch] = own().filter(({ isBelow }) => isBelow);
    const delays = (lateCount: number) =>
      Array.from({ length: 100 }, (_, n) => (n < lateCount ? 60_001 : 60_000));

    expect(watch).toMatchObject({ alarm: 'events-late', statistic: 'PR(:60000)', threshold: 90 });
    expect(watch && sees(watch, emit('operations-bridge', 'PublishDelayMs', delays(11)))).toBe(true);
    expect(watch && sees(watch, emit('operations-bridge', 'PublishDelayMs', delays(10)))).toBe(false);
  });

  test('watches every metric that is billed, and the template does not grow with accounts', () => {
    const [account] = example.accounts;
    if (account === undefined) throw new Error('the example has no account');
    const two = synthesize({
      accounts: ['main', 'second'].map((account_id) => ({ ...account, account_id })),
    });

    const measured = [...own().map(named), 'CallbacksRefused'];
    expect(new Set(measured)).toEqual(new Set(Object.keys(metricUnits)));
    expect(two.ofType('AWS::CloudWatch::Alarm')).toHaveLength(alarms().length);
  });
});

test('only a bridge that ends tasks of workflows has the permission, the alarm and the events for it', () => {
  const arn = 'arn:aws:states:eu-central-1:123456789012:stateMachine:preview';
  const ending = synthesize({ callbacks: { state_machine_arns: [arn] } });
  const [alarm] = ending
    .ofType('AWS::CloudWatch::Alarm')
    .filter(({ Properties }) => Properties.MetricName === 'CallbacksRefused');
  const statements = ending
    .ofType('AWS::IAM::Policy')
    .concat(ending.ofType('AWS::IAM::Role'))
    .flatMap((each) => JSON.stringify(each).match(/\{[^{}]*"states:SendTask[^}]*\}/g) ?? []);

  expect(stack.text).not.toMatch(/states:|CallbacksRefused|CALLBACKS/);
  expect(stack.text).not.toContain('Command Settled"],"detail');
  expect(alarm?.Properties).toMatchObject({ Threshold: 0, Statistic: 'Sum' });
  expect(alarm?.Properties.AlarmDescription).toMatch(/#callbacks-refused$/);
  expect(statements.map((text) => JSON.parse(text))).toEqual([
    {
      Action: ['states:SendTaskSuccess', 'states:SendTaskFailure', 'states:SendTaskHeartbeat'],
      Effect: 'Allow',
      Resource: arn,
      Sid: 'Callbacks',
    },
  ]);
  const watch = watchOf(alarm as Resource);
  expect(sees(watch, emit('operations-bridge', 'CallbacksRefused', [1]))).toBe(true);
  expect(sees(watch, emit('another', 'CallbacksRefused', [1]))).toBe(false);
  const variables = ending.ofType('AWS::Lambda::Function').map(({ Properties }) => Properties);
  const switchedOn = variables.filter(({ Environment }) => Environment?.Variables.CALLBACKS === 'on');
  expect(new Set(switchedOn.map(({ FunctionName }) => FunctionName))).toEqual(
    new Set(['operations-bridge-api', 'operations-bridge-commands']),
  );
});

describe('an alarm on a metric of AWS', () => {
  test('names resources of this stack', () => {
    const foreign = alarms()
      .map(watchOf)
      .filter((watch) => !isOwn(watch));

    expect(foreign.length).toBeGreaterThan(8);
    for (const { alarm, metrics } of foreign) {
      const targets = metrics
        .flatMap(({ dimensions }) => Object.values(dimensions))
        .map((value) => {
          const { Ref, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: string[] };
          return Ref ?? attribute?.[0] ?? '';
        });
      expect([alarm, targets.filter((id) => stack.resource(id) === undefined)]).toEqual([alarm, []]);
      expect(targets.length).toBeGreaterThan(0);
    }
  });

  test('measures failing answers of the API as a share of its answers', () => {
    const watch = alarms()
      .map(watchOf)
      .find(({ alarm }) => alarm === 'api-failing');

    expect(watch).toMatchObject({ expression: '100 * part / whole', threshold: 10 });
    expect(watch?.metrics.map(({ id, name }) => [id, name])).toEqual([
      ['part', '5xx'],
      ['whole', 'Count'],
    ]);
  });
});

describe('the alarms about functions', () => {
  const watched = (stackOfAlarms: Synthesized, metric: string) =>
    stackOfAlarms
      .ofType('AWS::CloudWatch::Alarm')
      .filter(({ Properties }) => Properties.Namespace === 'AWS/Lambda' && Properties.MetricName === metric)
      .map((alarm) => [nameOf(alarm), alarm.Properties.Threshold]);

  test('watch the errors and throttles of each function that requests, messages or sweeps invoke', () => {
    for (const [metric, name] of [
      ['Errors', 'function-errors'],
      ['Throttles', 'function-throttled'],
    ] as const)
      expect(watched(stack, metric).map(([alarm]) => alarm)).toEqual(
        ['api', 'commands', 'notifier'].map((each) => `${name}-${each}`),
      );
  });

  test('fire on a duration between the time at which a function stops by itself and its time-out', () => {
    const slow = watched(stack, 'Duration');

    expect(slow.map(([name]) => name)).toEqual(
      ['api', 'commands', 'notifier'].map((each) => `function-slow-${each}`),
    );
    const ownEndMs = {
      api: REQUEST_MS_MAX,
      commands: WORK_MS_MAX + 15_000,
      notifier: SEND_BUDGET_MS + 25_000,
    };
    for (const [each, endMs] of Object.entries(ownEndMs) as [keyof typeof ownEndMs, number][]) {
      const threshold = Number(slow.find(([name]) => name === `function-slow-${each}`)?.[1]);
      expect([each, threshold > endMs, threshold < functionDefinitions[each].timeoutMs]).toEqual([
        each,
        true,
        true,
      ]);
    }
  });

  test('watch how many instances are at work only where a number of them is reserved, and fire before the last one', () => {
    const reserved = synthesize({ reserved_concurrency: { api: 50 } });

    expect(watched(stack, 'ConcurrentExecutions')).toEqual([]);
    expect(watched(reserved, 'ConcurrentExecutions')).toEqual([['function-crowded-api', 40]]);
    expect(readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8')).toContain(
      '\n## function-crowded\n',
    );
  });
});

describe('the dashboard', () => {
  test('is deployed when the configuration asks for it, and draws metrics of this bridge and figures of its logs', () => {
    const [dashboard] = synthesize({ dashboard: true }).ofType('AWS::CloudWatch::Dashboard');
    const text = JSON.stringify(dashboard?.Properties.DashboardBody);

    expect(stack.ofType('AWS::CloudWatch::Dashboard')).toEqual([]);
    for (const metric of ['PublishDelayMs', 'WalkAgeMs', 'UnpublishedAgeMs'])
      expect(text).toContain(`\\"${metric}\\",\\"service\\",\\"operations-bridge\\"`);
    expect(text).toContain('sum(TransitionsRecorded)');
    expect(text).toContain('/aws/lambda/operations-bridge-poller');
  });
});

test('the price of a month counts every metric of every alarm of the template', () => {
  expect(alarms().flatMap((alarm) => watchOf(alarm).metrics)).toHaveLength(ALARM_COUNT);
});

describe('the runbook', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');

  test('has an article for every alarm, under the anchor that the alarm links to', () => {
    const anchors = alarms().map(
      ({ Properties }) => /#([a-z-]+)$/.exec(Properties.AlarmDescription)?.[1] ?? '',
    );

    expect(new Set(anchors).size).toBe(26);
    expect(anchors.filter((anchor) => !page.includes(`\n## ${anchor}\n`))).toEqual([]);
  });

  test('has a sign, a first command and an end in every article', () => {
    const articles = page
      .slice(page.indexOf('\n# Alarms'), page.indexOf('\n# Log lines'))
      .split('\n## ')
      .slice(1);
    const incomplete = articles.filter(
      (article) => !/\*\*Sign\.\*\* [\s\S]*\*\*First\.\*\*[\s\S]*`[\s\S]*\*\*End\.\*\* /.test(article),
    );

    expect(articles.length).toBe(28);
    expect(incomplete.map((article) => article.split('\n')[0])).toEqual([]);
  });

  test('counts each of the late events of a busy invocation, whose line has a list of their delays', () => {
    const lines = linesOf('a-bridge', 'PublishDelayMs', [70_000, 90_000]);

    expect(lines.join()).toContain('"PublishDelayMs":[70000,90000]');
    expect(page).toContain('unnest line.PublishDelayMs into delay | filter delay > 60000');
  });

  test('stops functions and schedules that the stack has', () => {
    const [commands = ''] = /^```sh\nNAME=[\s\S]*?^```$/m.exec(page) ?? [];
    const namesOf = (type: string, property: string) =>
      stack.ofType(type).map(({ Properties }) => String(Properties[property]));
    const functions = namesOf('AWS::Lambda::Function', 'FunctionName');
    const named = /^for FUNCTION in ([a-z ]+);/m.exec(commands)?.[1]?.split(' ') ?? [];
    const prefixes = [...commands.matchAll(/\$NAME-([a-z-]+)['"]/g)].map(([, prefix = '']) => prefix);

    expect(commands).toContain('NAME=operations-bridge\n');
    expect(named.map((name) => functions.includes(`operations-bridge-${name}`))).toEqual([true, true]);
    expect(prefixes).toEqual(['lane-', 'poller']);
    expect(
      namesOf('AWS::Scheduler::Schedule', 'Name').filter((name) =>
        name.startsWith('operations-bridge-lane-'),
      ),
    ).toHaveLength(1);
    expect(functions.filter((name) => name.startsWith('operations-bridge-poller'))).toHaveLength(1);
  });
});
