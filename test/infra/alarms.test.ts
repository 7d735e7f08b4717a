/** Alarms against what the code really writes: names, dimensions, units and values, through the embedded metric format. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { METRIC_NAMESPACE, type MetricName } from '../../shared/runtime/metric-names.ts';
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

/** What CloudWatch makes of the lines that the telemetry of production writes. */
function emit(service: string, account: string, metric: MetricName, value: number): readonly Emitted[] {
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
  telemetry.measure(metric, value);
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

/** CloudWatch matches a metric by namespace, name and exactly these dimensions. */
function sees({ Properties }: Resource, emitted: readonly Emitted[]): boolean {
  const wanted = Object.fromEntries(
    (Properties.Dimensions as { Name: string; Value: string }[]).map(({ Name, Value }) => [Name, Value]),
  );
  return emitted.some(
    ({ namespace, dimensions, name, value }) =>
      namespace === Properties.Namespace &&
      name === Properties.MetricName &&
      isSame(dimensions, wanted) &&
      value > Properties.Threshold,
  );
}

function isSame(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

describe('an alarm on a metric of the bridge', () => {
  test('is crossed by what the code emits above its threshold, and not by what is below or of another account', () => {
    const own = alarms().filter(({ Properties }) => Properties.Namespace === METRIC_NAMESPACE);
    expect(own.map(nameOf)).toHaveLength(6);
    for (const alarm of own) {
      const { MetricName: metric, Threshold: threshold, Dimensions } = alarm.Properties;
      const value = (name: string) =>
        Dimensions.find(({ Name }: { Name: string }) => Name === name)?.Value as string;
      const [service, account] = [value('service'), value('account')];

      expect([nameOf(alarm), sees(alarm, emit(service, account, metric, threshold + 1))]).toEqual([
        nameOf(alarm),
        true,
      ]);
      expect(sees(alarm, emit(service, account, metric, threshold))).toBe(false);
      expect(sees(alarm, emit(service, 'another', metric, threshold + 1))).toBe(false);
      expect(sees(alarm, emit('another', account, metric, threshold + 1))).toBe(false);
    }
  });
});

describe('an alarm on a metric of AWS', () => {
  test('names a resource of this stack', () => {
    const foreign = alarms().filter(({ Properties }) => Properties.Namespace !== METRIC_NAMESPACE);

    expect(foreign.length).toBeGreaterThan(8);
    for (const { Properties } of foreign) {
      const targets = (Properties.Dimensions as { Value: { Ref?: string; 'Fn::GetAtt'?: string[] } }[]).map(
        ({ Value }) => Value.Ref ?? Value['Fn::GetAtt']?.[0] ?? '',
      );
      expect(targets.every((id) => stack.resource(id) !== undefined)).toBe(true);
    }
  });
});

describe('the runbook', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/operations.md'), 'utf8');

  test('has an article for every alarm, under the anchor that the alarm links to', () => {
    const anchors = alarms().map(
      ({ Properties }) => /#([a-z-]+)$/.exec(Properties.AlarmDescription)?.[1] ?? '',
    );

    expect(new Set(anchors).size).toBe(12);
    expect(anchors.filter((anchor) => !page.includes(`\n## ${anchor}\n`))).toEqual([]);
  });
});
