/** Every alarm that wakes people. Each says what it means for them and where to read what to do. */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { DEAF_MS } from '../../../shared/alerts/deaf-channel.ts';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import type { Api } from '../resources/api.ts';
import { type BridgeBus, CANARY_EVERY_MINUTES } from '../resources/bridge-bus.ts';
import type { Commands } from '../resources/commands.ts';
import type { Notifier } from '../resources/notifier.ts';
import type { Poller } from '../resources/poller.ts';
import { alarmTopic } from './alarm-topic.ts';
import { bridgeMetric, percentage } from './metrics.ts';

export interface AlarmParts {
  readonly config: BridgeConfig;
  readonly events: BridgeBus;
  readonly poller: Poller;
  readonly api: Api;
  readonly commands: Commands;
  readonly notifier: Notifier;
}

interface AlarmDefinition {
  /** The name is also the anchor of the alarm's article in the runbook. */
  readonly name: string;
  readonly means: string;
  readonly metric: cloudwatch.IMetric;
  readonly threshold: number;
  readonly isBelow?: true;
  readonly periods?: number;
  readonly missing?: cloudwatch.TreatMissingData;
}

/**
 * One failure among the poller's five invocations in five minutes is more than this share, so the alarm needs it
 * twice in a row.
 */
const ERROR_PERCENT_MAX = 10;

export class Alarms extends Construct {
  constructor(scope: Construct, parts: AlarmParts) {
    super(scope, 'Alarms');
    const action = new SnsAction(alarmTopic(this, parts.config));
    for (const definition of [...accountAlarms(parts), ...systemAlarms(parts), ...apiAlarms(parts)]) {
      const { name, means, metric, threshold, isBelow, periods = 1, missing } = definition;
      const article = name.replace(/:.*/, '');
      const alarm = new cloudwatch.Alarm(this, name.replaceAll(':', '-'), {
        alarmName: `${parts.config.name}-${name.replaceAll(':', '-')}`,
        alarmDescription: `${means} Runbook: ${parts.config.runbook_url}#${article}`,
        metric,
        threshold,
        evaluationPeriods: periods,
        comparisonOperator: isBelow
          ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
          : cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        treatMissingData: missing ?? cloudwatch.TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }
}

function accountAlarms({ config }: AlarmParts): readonly AlarmDefinition[] {
  const { walk_age_minutes, unpublished_age_minutes, throttled_percent } = config.thresholds;
  const period = Duration.minutes(5);
  return config.accounts.flatMap(({ account_id }) => {
    const of = (metric: MetricName, statistic: string) =>
      bridgeMetric(metric, { service: 'poller', account: account_id }, { statistic, period });
    return [
      {
        name: `no-complete-walk:${account_id}`,
        means: `Some project of account ${account_id} has not been read completely for ${walk_age_minutes} minutes, or the poller says nothing at all: events are late.`,
        metric: of('WalkAgeMs', 'Maximum'),
        threshold: walk_age_minutes * 60_000,
        periods: 3,
        missing: cloudwatch.TreatMissingData.BREACHING,
      },
      {
        name: `unpublished-events:${account_id}`,
        means: `Events of account ${account_id} are recorded and do not get through to the bus.`,
        metric: of('UnpublishedAgeMs', 'Maximum'),
        threshold: unpublished_age_minutes * 60_000,
        periods: 2,
      },
      {
        name: `key-rejected:${account_id}`,
        means: `The upstream refuses the key of account ${account_id}; nothing is read until there is a valid one.`,
        metric: of('KeyRejected', 'Sum'),
        threshold: 0,
      },
      {
        name: `upstream-throttled:${account_id}`,
        means: `The upstream refuses more than ${throttled_percent} % of the requests of account ${account_id} for their rate; events come later.`,
        metric: percentage(of('UpstreamThrottled', 'Sum'), of('UpstreamRequests', 'Sum'), period),
        threshold: throttled_percent,
        periods: 3,
      },
      {
        name: `events-parked:${account_id}`,
        means: `The bus refused an event of account ${account_id} for good; it waits for a person.`,
        metric: of('EventsParked', 'Sum'),
        threshold: 0,
      },
      {
        name: `bound-met:${account_id}`,
        means: `Account ${account_id} has met a bound of docs/limits.md; part of it may not be watched.`,
        metric: of('BoundMet', 'Sum'),
        threshold: 0,
      },
      {
        name: `items-unreadable:${account_id}`,
        means: `An item of account ${account_id} in the table cannot be read by this version: it is skipped and kept, and everything else goes on.`,
        metric: of('ItemsUnreadable', 'Sum'),
        threshold: 0,
        periods: 2,
      },
    ];
  });
}

/** Strangers call now and then. This number of calls in five minutes means that tokens are being tried. */
const UNAUTHENTICATED_MAX = 100;

/** One failure among a handful of requests is more than this share, so the alarm needs it twice in a row. */
const API_FAILURES_PERCENT_MAX = 10;

function apiAlarms({ api }: AlarmParts): readonly AlarmDefinition[] {
  const period = Duration.minutes(5);
  const sum = { statistic: 'Sum', period };
  return [
    {
      name: 'api-failing',
      means: `More than ${API_FAILURES_PERCENT_MAX} % of the answers of the API are failures (5xx).`,
      metric: percentage(api.httpApi.metricServerError(sum), api.httpApi.metricCount(sum), period),
      threshold: API_FAILURES_PERCENT_MAX,
      periods: 2,
    },
    {
      name: 'tokens-refused',
      means: `More than ${UNAUTHENTICATED_MAX} requests in five minutes came without a valid token.`,
      metric: bridgeMetric('ApiRefusals', { service: 'api', account: 'api', by: 'unauthenticated' }, sum),
      threshold: UNAUTHENTICATED_MAX,
    },
    {
      name: 'audit-failed',
      means: 'A record of the audit could not be written; only the log has what was done.',
      metric: bridgeMetric('AuditFailed', { service: 'api', account: 'api' }, sum),
      threshold: 0,
    },
  ];
}

function systemAlarms({ events, poller, api, commands, notifier }: AlarmParts): readonly AlarmDefinition[] {
  const period = Duration.minutes(5);
  const depth = (queue: sqs.Queue) =>
    queue.metricApproximateNumberOfMessagesVisible({ period, statistic: 'Maximum' });
  const functions = [poller.fn, api.fn, commands.fn, notifier.fn];
  return [
    {
      name: 'canary-missing',
      means: 'The canary event does not come through the bus and a rule: real events may not either.',
      metric: events.canaryQueue.metricNumberOfMessagesSent({
        period: Duration.minutes(CANARY_EVERY_MINUTES),
        statistic: 'Sum',
      }),
      threshold: 1,
      isBelow: true,
      periods: 3,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'alerts-waiting',
      means: 'Failures wait in the queue of the notifier: people are told late.',
      metric: notifier.queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' }),
      threshold: 300,
    },
    {
      name: 'alerts-dead-letters',
      means: 'The notifier gave an event up: somebody was not told of a failure.',
      metric: depth(notifier.deadLetters),
      threshold: 0,
    },
    {
      name: 'events-undelivered',
      means:
        'A rule or a schedule of the bridge could not reach its target; what it was to hand over waits in the queue for undelivered ones.',
      metric: depth(events.undelivered),
      threshold: 0,
    },
    {
      name: 'poller-failures',
      means: 'Invocations of the poller ended with an error or did not begin; the next minute tries again.',
      metric: depth(poller.failures),
      threshold: 0,
    },
    {
      name: 'alerts-failing',
      means: 'Slack or the mail topic does not take messages; what is untold waits in the table.',
      metric: bridgeMetric(
        'AlertsFailed',
        { service: 'notifier', account: 'all' },
        { statistic: 'Sum', period },
      ),
      threshold: 3,
      periods: 2,
    },
    {
      name: 'key-echoed',
      means:
        'An answer of the upstream had the key of the account in it. No caller saw it, and calls that answer so fail.',
      metric: bridgeMetric('KeyEchoed', { service: 'api', account: 'api' }, { statistic: 'Sum', period }),
      threshold: 0,
    },
    {
      name: 'commands-dead-letters',
      means:
        'The worker failed five times for one project: queued commands of it may wait until their deadlines.',
      metric: depth(commands.deadLetters),
      threshold: 0,
    },
    {
      name: 'commands-unworkable',
      means: 'A queued command could not be read or opened; it settled as failed and was not sent.',
      metric: bridgeMetric(
        'CommandsUnworkable',
        { service: 'commands', account: 'commands' },
        { statistic: 'Sum', period },
      ),
      threshold: 0,
    },
    ...channelAlarms(),
    ...functions.flatMap((fn): readonly AlarmDefinition[] => [
      {
        name: `function-errors:${fn.name}`,
        means: `More than ${ERROR_PERCENT_MAX} % of the invocations of the ${fn.name} fail.`,
        metric: percentage(
          fn.lambda.metricErrors({ period, statistic: 'Sum' }),
          fn.lambda.metricInvocations({ period, statistic: 'Sum' }),
          period,
        ),
        threshold: ERROR_PERCENT_MAX,
        periods: 2,
      },
      {
        name: `function-throttles:${fn.name}`,
        means: `The ${fn.name} is not run because too much runs at once.`,
        metric: fn.lambda.metricThrottles({ period, statistic: 'Sum' }),
        threshold: 2,
        periods: 3,
      },
    ]),
  ];
}

/**
 * Every sweep of the notifier measures how long each channel has taken nothing, so a notifier that stops raises these
 * alarms, too.
 */
function channelAlarms(): readonly AlarmDefinition[] {
  const of = (metric: MetricName, statistic: string, period: Duration) =>
    bridgeMetric(metric, { service: 'notifier', account: 'all' }, { statistic, period });
  return [
    {
      name: 'channel-deaf',
      means:
        'For ten minutes an alert channel has taken nothing although something waits for it, or the notifier does not run.',
      metric: of('ChannelDeafMs', 'Maximum', Duration.minutes(1)),
      threshold: DEAF_MS - 1,
      // A single late sweep raises no alarm.
      periods: 2,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'alerts-refused',
      means: 'A channel refused an alert for good; it is kept, and somebody has to pass it on.',
      metric: of('AlertsRefused', 'Sum', Duration.minutes(5)),
      threshold: 0,
    },
    {
      name: 'alert-items-unreadable',
      means: 'An item of the notifier cannot be read; alerts go on without it.',
      metric: of('AlertItemsUnreadable', 'Sum', Duration.minutes(5)),
      threshold: 0,
    },
  ];
}
