/** Makes one page that shows how late events are, how many there are, what fails and what waits. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import type { AlarmParts } from './alarms.ts';
import { bridgeMetric, splitMetric } from './metrics.ts';

const HALF = 12;

export class Dashboard extends Construct {
  constructor(scope: Construct, { config, poller, api, commands, notifier }: AlarmParts) {
    super(scope, 'Dashboard');
    const period = Duration.minutes(1);
    const perAccount = (metric: MetricName, statistic: string, label = '') =>
      config.accounts.map(({ account_id }) =>
        bridgeMetric(
          metric,
          { service: 'poller', account: account_id },
          { statistic, period, label: `${account_id} ${label}`.trim() },
        ),
      );
    const graph = (title: string, left: readonly cloudwatch.IMetric[], unit: string) =>
      new cloudwatch.GraphWidget({
        title,
        left: [...left],
        width: HALF,
        height: 6,
        leftYAxis: { min: 0, label: unit, showUnits: false },
      });
    const sum = { period, statistic: 'Sum' };
    new cloudwatch.Dashboard(this, 'Page', {
      dashboardName: config.name,
      defaultInterval: Duration.hours(3),
      widgets: [
        [
          graph(
            'Detection delay',
            ['p50', 'p95', 'p99'].flatMap((each) => perAccount('DetectionDelayMs', each, each)),
            'ms',
          ),
          graph(
            'Transitions and events',
            [
              ...perAccount('TransitionsRecorded', 'Sum', 'recorded'),
              ...perAccount('EventsPublished', 'Sum', 'published'),
            ],
            'per minute',
          ),
        ],
        [
          graph('Transitions by status', [splitMetric('TransitionsByStatus', period)], 'per minute'),
          graph('Failures by action', [splitMetric('FailuresByAction', period)], 'per minute'),
        ],
        [
          graph(
            'Rate limit used',
            [
              ...perAccount('UpstreamRequests', 'Sum', 'requests'),
              ...perAccount('UpstreamThrottled', 'Sum', 'refused (429)'),
            ],
            'per minute',
          ),
          graph('Age of the oldest complete walk', perAccount('WalkAgeMs', 'Maximum'), 'ms'),
        ],
        [
          graph(
            'Waiting for the bus',
            [
              ...perAccount('UnpublishedBacklog', 'Maximum', 'backlog'),
              ...perAccount('EventsParked', 'Sum', 'parked'),
            ],
            'events',
          ),
          graph(
            'Alerts',
            [
              bridgeMetric('AlertsSent', { service: 'notifier', account: 'all' }, { ...sum, label: 'sent' }),
              bridgeMetric(
                'AlertsFailed',
                { service: 'notifier', account: 'all' },
                { ...sum, label: 'failed' },
              ),
              notifier.queue.metricApproximateNumberOfMessagesVisible({
                period,
                statistic: 'Maximum',
                label: 'in the queue',
              }),
            ],
            'messages',
          ),
        ],
        [
          graph('Refused requests by reason', [splitMetric('ApiRefusals', period)], 'per minute'),
          graph('Sessions and reads of secrets', [splitMetric('ApiAccesses', period)], 'per minute'),
        ],
        [
          graph(
            'API',
            [
              api.fn.lambda.metricInvocations({ ...sum, label: 'requests' }),
              api.fn.lambda.metricErrors({ ...sum, label: 'errors' }),
            ],
            'per minute',
          ),
          graph(
            'Time of an invocation',
            [poller.fn, api.fn, commands.fn, notifier.fn].map((fn) =>
              fn.lambda.metricDuration({ period, statistic: 'p95', label: `${fn.name} p95` }),
            ),
            'ms',
          ),
        ],
      ],
    });
  }
}
