/**
 * Makes one page that shows how late events are, what fails and what waits. It draws the metrics that the alarms
 * watch, AWS's own metrics, which cost nothing, and figures from the logs, which are read when the page is open.
 */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { FigureName, MetricName } from '../../../shared/runtime/telemetry.ts';
import type { BridgeConfig } from '../../bridge-config.ts';
import type { AlarmParts } from './alarms.ts';
import { bridgeMetric } from './metrics.ts';

const HALF = 12;
const HEIGHT = 6;
const MINUTE = Duration.minutes(1);

export class Dashboard extends Construct {
  constructor(scope: Construct, parts: AlarmParts) {
    super(scope, 'Dashboard');
    const { config, poller, api, notifier } = parts;
    new cloudwatch.Dashboard(this, 'Page', {
      dashboardName: config.name,
      defaultInterval: Duration.hours(3),
      widgets: [
        [delays(config), objective(config)],
        [
          graph('Worst account', worstAccounts(config), 'ms'),
          logged('Transitions', poller, ['TransitionsRecorded', 'EventsPublished', 'LateOperations']),
        ],
        [
          logged('Requests to the upstream', poller, [
            'UpstreamRequests',
            'UpstreamThrottled',
            'UpstreamFailed',
          ]),
          logged('Alerts', notifier, ['AlertsSent', 'AlertsFailed']),
        ],
        [graph('API', apiLines(api), 'per minute'), graph('Time of an invocation', durations(parts), 'ms')],
      ],
    });
  }
}

function graph(title: string, left: readonly cloudwatch.IMetric[], unit: string): cloudwatch.GraphWidget {
  return new cloudwatch.GraphWidget({
    title,
    left: [...left],
    width: HALF,
    height: HEIGHT,
    leftYAxis: { min: 0, label: unit, showUnits: false },
  });
}

function delays({ name }: BridgeConfig): cloudwatch.GraphWidget {
  const lines = ['p50', 'p95', 'p99'].map((statistic) =>
    bridgeMetric('PublishDelayMs', name, { statistic, period: MINUTE, label: statistic }),
  );
  return graph("From the upstream's own time to the bus", lines, 'ms');
}

/** Shows the share of events in time, with the objective as a line. */
function objective({ name, thresholds }: BridgeConfig): cloudwatch.GraphWidget {
  const { published_within_seconds: withinSeconds, published_in_time_percent: value } = thresholds;
  return new cloudwatch.GraphWidget({
    title: `Published within ${withinSeconds} s`,
    left: [
      bridgeMetric('PublishDelayMs', name, {
        statistic: `PR(:${withinSeconds * 1_000})`,
        period: Duration.hours(1),
        label: 'share of events',
      }),
    ],
    leftAnnotations: [{ value, label: 'objective' }],
    leftYAxis: { min: 0, max: 100, label: '%', showUnits: false },
    width: HALF,
    height: HEIGHT,
  });
}

function worstAccounts({ name }: BridgeConfig): readonly cloudwatch.IMetric[] {
  const of = (metric: MetricName, label: string) =>
    bridgeMetric(metric, name, { statistic: 'Maximum', period: MINUTE, label });
  return [
    of('WalkAgeMs', 'age of the oldest complete walk'),
    of('UnpublishedAgeMs', 'age of the oldest unpublished event'),
  ];
}

/** Draws sums of figures that stand in the log of a function (CloudWatch Logs Insights). */
function logged(
  title: string,
  { fn }: AlarmParts['poller'] | AlarmParts['notifier'],
  figures: readonly FigureName[],
): cloudwatch.LogQueryWidget {
  return new cloudwatch.LogQueryWidget({
    title: `${title} a minute`,
    logGroupNames: [fn.logGroupName],
    view: cloudwatch.LogQueryVisualizationType.LINE,
    queryLines: [
      "filter message = 'figures.logged'",
      `stats ${figures.map((figure) => `sum(${figure}) as ${figure}Sum`).join(', ')} by bin(1m)`,
    ],
    width: HALF,
    height: HEIGHT,
  });
}

function apiLines({ fn }: AlarmParts['api']): readonly cloudwatch.IMetric[] {
  const sum = { period: MINUTE, statistic: 'Sum' };
  return [
    fn.lambda.metricInvocations({ ...sum, label: 'requests' }),
    fn.lambda.metricErrors({ ...sum, label: 'errors' }),
  ];
}

function durations({ poller, api, commands, notifier }: AlarmParts): readonly cloudwatch.IMetric[] {
  return [poller.fn, api.fn, commands.fn, notifier.fn].map((fn) =>
    fn.lambda.metricDuration({ period: MINUTE, statistic: 'p95', label: `${fn.name} p95` }),
  );
}
