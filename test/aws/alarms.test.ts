/**
 * Compares alarms with what the code really writes: names, dimensions, units and values, through the embedded metric
 * format.
 */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { ALARM_COUNT } from '../../infra/cli/docs/cost-docs.ts';
import {
  isSplit,
  METRIC_NAMESPACE,
  type MetricName,
  OTHER,
  type SplitMetricName,
  splitMetrics,
} from '../../shared/runtime/metric-names.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
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

/** Derives the metrics that CloudWatch makes of the lines that production's telemetry writes. */
function emit(
  service: string,
  account: string,
  metric: MetricName,
  value: number,
  name?: string,
): readonly Emitted[] {
  const lines: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    lines.push(
      ...String(chunk)
        .split('\n')
        .filter((line) => line.startsWith('{')),
    );
    return true;
  });
  const telemetry = createPowertoolsTelemetry(service, account);
  telemetry.measure(metric, value, name);
  telemetry.flush();
  spy.mockRestore();
  return lines.flatMap((line) => {
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
  const whole = { alarm: nameOf(alarm), threshold: Properties.Threshold as number };
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
function sees({ metrics, expression, threshold }: Watch, emitted: readonly Emitted[]): boolean {
  const values = metrics.map((wanted) => {
    const own = emitted.filter(
      ({ namespace, name, dimensions }) =>
        namespace === wanted.namespace && name === wanted.name && isSame(dimensions, wanted.dimensions),
    );
    return own.length === 0 ? Number.NaN : own.reduce((sum, { value }) => sum + value, 0);
  });
  const ids = metrics.map(({ id }) => id);
  const valueBy = (id: string) => values[ids.indexOf(id)] ?? Number.NaN;
  const value =
    expression === '100 * part / whole' ? (100 * valueBy('part')) / valueBy('whole') : valueBy(expression);
  return value > threshold;
}

function isSame(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function nameOfSplit(metric: MetricName, dimensions: Watched['dimensions']): string | undefined {
  return isSplit(metric) ? String(dimensions[splitMetrics[metric].dimension]) : undefined;
}

const isOwn = ({ metrics }: Watch) => metrics.every(({ namespace }) => namespace === METRIC_NAMESPACE);

describe('an alarm on a metric of the bridge', () => {
  test('fires on values that the code emits above its threshold, and not at the threshold or for another account or function', () => {
    const own = alarms().map(watchOf).filter(isOwn);
    expect(own).toHaveLength(15);
    for (const watch of own) {
      // For a share in percent, `value` is the count out of 100.
      const emitAll = (value: number, { service, account }: { service?: string; account?: string } = {}) =>
        watch.metrics.flatMap(({ id, name, dimensions }) =>
          emit(
            service ?? String(dimensions['service']),
            account ?? String(dimensions['account']),
            name as MetricName,
            id === 'whole' ? 100 : value,
            nameOfSplit(name as MetricName, dimensions),
          ),
        );

      expect([watch.alarm, sees(watch, emitAll(watch.threshold + 1))]).toEqual([watch.alarm, true]);
      expect(sees(watch, emitAll(watch.threshold))).toBe(false);
      expect(sees(watch, emitAll(watch.threshold + 1, { account: 'another' }))).toBe(false);
      expect(sees(watch, emitAll(watch.threshold + 1, { service: 'another' }))).toBe(false);
    }
  });
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

  test('measures errors of a function as a share of its invocations', () => {
    const watch = alarms()
      .map(watchOf)
      .find(({ alarm }) => alarm === 'function-errors-api');

    expect(watch).toMatchObject({ expression: '100 * part / whole', threshold: 10 });
    expect(watch?.metrics.map(({ id, name }) => [id, name])).toEqual([
      ['part', 'Errors'],
      ['whole', 'Invocations'],
    ]);
  });
});

describe('the dashboard', () => {
  test.each(Object.keys(splitMetrics) as SplitMetricName[])(
    'finds %s by the dimensions that the code writes, for known and unknown names',
    (metric) => {
      const [dashboard] = stack.ofType('AWS::CloudWatch::Dashboard');
      const text = JSON.stringify(dashboard?.Properties.DashboardBody);
      const [known] = splitMetrics[metric].values;
      const emitted = [known, 'something new'].flatMap((name) => emit('poller', 'main', metric, 3, name));

      expect(emitted.map(({ name, value }) => [name, value])).toEqual([
        [metric, 3],
        [metric, 3],
      ]);
      expect(emitted.map(({ dimensions }) => dimensions[splitMetrics[metric].dimension])).toEqual([
        known,
        OTHER,
      ]);
      const schema = Object.keys(emitted[0]?.dimensions ?? {}).toSorted();
      expect(text).toContain(`{${[METRIC_NAMESPACE, ...schema].join(',')}} MetricName=`);
      expect(text).toContain(metric);
    },
  );
});

test('the price of a month counts every alarm of the template', () => {
  expect(alarms()).toHaveLength(ALARM_COUNT);
});

describe('the runbook', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');

  test('has an article for every alarm, under the anchor that the alarm links to', () => {
    const anchors = alarms().map(
      ({ Properties }) => /#([a-z-]+)$/.exec(Properties.AlarmDescription)?.[1] ?? '',
    );

    expect(new Set(anchors).size).toBe(24);
    expect(anchors.filter((anchor) => !page.includes(`\n## ${anchor}\n`))).toEqual([]);
  });
});
