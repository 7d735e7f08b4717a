/**
 * Defines the alarms of a bridge: whether accounts are read in time, whether events get through the bus, whether
 * failures reach people, and whether the API, queued commands and the functions themselves work.
 */

import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { DEAF_MS } from '../../../shared/alerts/incidents.ts';
import type { MetricName } from '../../../shared/runtime/telemetry.ts';
import type { BridgeConfig } from '../../bridge-config.ts';
import { functionDefinitions } from '../../functions.ts';
import { type Api, takesCallbacks } from './api.ts';
import { type BridgeBus, CANARY_EVERY_MINUTES } from './bridge-bus.ts';
import type { BridgeFunction } from './bridge-function.ts';
import type { Commands } from './commands.ts';
import { type AlarmDefinition, bridgeMetric, depthOf, FIVE_MINUTES, percentage } from './metrics.ts';
import type { Notifier } from './notifier.ts';

export function pollingAlarms({ name, thresholds }: BridgeConfig): readonly AlarmDefinition[] {
  const { walk_age_minutes, unpublished_age_minutes, throttled_percent } = thresholds;
  const of = (metric: MetricName, statistic: string) =>
    bridgeMetric(metric, name, { statistic, period: FIVE_MINUTES });
  return [
    objectiveAlarm(name, thresholds),
    {
      name: 'no-complete-walk',
      means: `Some project of an account has not been read completely for ${walk_age_minutes} minutes, or the poller says nothing at all: events are late.`,
      metric: of('WalkAgeMs', 'Maximum'),
      threshold: walk_age_minutes * 60_000,
      periods: 3,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'unpublished-events',
      means: 'Events are recorded and do not get through to the bus.',
      metric: of('UnpublishedAgeMs', 'Maximum'),
      threshold: unpublished_age_minutes * 60_000,
      periods: 2,
    },
    {
      name: 'key-rejected',
      means: 'The upstream refuses the key of an account; nothing of it is read until there is a valid one.',
      metric: of('KeyRejected', 'Sum'),
      threshold: 0,
    },
    {
      name: 'secrets-unreadable',
      means:
        'A secret cannot be read. The bridge goes on with what it read last, for a day at most; a function that starts anew cannot.',
      metric: of('SecretsUnreadable', 'Sum'),
      threshold: 0,
    },
    {
      name: 'upstream-throttled',
      means: `The upstream refuses more than ${throttled_percent} % of the requests of an account for their rate; its events come later.`,
      metric: of('UpstreamThrottledPercent', 'Maximum'),
      threshold: throttled_percent,
      periods: 3,
    },
    {
      name: 'events-parked',
      means: 'The bus refused an event for good; it waits for a person.',
      metric: of('EventsParked', 'Sum'),
      threshold: 0,
    },
    {
      name: 'bound-met',
      means: 'An account has met a bound of docs/limits.md; part of it may not be watched.',
      metric: of('BoundMet', 'Sum'),
      threshold: 0,
    },
    {
      name: 'accounts-set-aside',
      means:
        'The poller of an account throws an error again and again; its events are late, and its lane goes on.',
      metric: of('AccountsSetAside', 'Sum'),
      threshold: 0,
      periods: 3,
    },
    {
      name: 'items-unreadable',
      means:
        'An item of the table cannot be read by this version: it is skipped and kept, and everything else continues to work.',
      metric: of('ItemsUnreadable', 'Sum'),
      threshold: 0,
      periods: 2,
    },
  ];
}

/** The objective is judged over an hour, so that a handful of late events in a quiet account is not the whole share. */
const OBJECTIVE_PERIOD = Duration.hours(1);

/**
 * Returns the alarm about the objective of the whole bridge. The percentile rank `PR(:x)` is the percentage of the
 * values that are at most `x` (CloudWatch User Guide, "Statistics definitions"), so the share needs no metric of its own.
 */
function objectiveAlarm(
  bridgeName: string,
  { published_within_seconds, published_in_time_percent }: BridgeConfig['thresholds'],
): AlarmDefinition {
  return {
    name: 'events-late',
    means: `Fewer than ${published_in_time_percent} % of the events of an hour were published within ${published_within_seconds} seconds of the upstream's own time.`,
    metric: bridgeMetric('PublishDelayMs', bridgeName, {
      statistic: `PR(:${published_within_seconds * 1_000})`,
      period: OBJECTIVE_PERIOD,
    }),
    threshold: published_in_time_percent,
    isBelow: true,
  };
}

export function deliveryAlarms({ canaryQueue, undelivered }: BridgeBus): readonly AlarmDefinition[] {
  return [
    {
      name: 'canary-missing',
      means: 'The canary event does not come through the bus and a rule: real events may not either.',
      metric: canaryQueue.metricNumberOfMessagesSent({
        period: Duration.minutes(CANARY_EVERY_MINUTES),
        statistic: 'Sum',
      }),
      threshold: 1,
      isBelow: true,
      periods: 3,
      missing: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      name: 'events-undelivered',
      means:
        'A rule or a schedule of the bridge could not reach its target, or what it invoked failed; what was handed over waits in the queue for undelivered ones.',
      metric: depthOf(undelivered),
      threshold: 0,
    },
  ];
}

export function alertAlarms(
  bridgeName: string,
  { queue, deadLetters }: Notifier,
): readonly AlarmDefinition[] {
  const period = FIVE_MINUTES;
  return [
    {
      name: 'alerts-waiting',
      means: 'Failures wait in the queue of the notifier, so alerts are late.',
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: 'Maximum' }),
      threshold: 300,
    },
    {
      name: 'alerts-dead-letters',
      means: 'The notifier gave up on an event, so the alert about a failure was not sent.',
      metric: depthOf(deadLetters),
      threshold: 0,
    },
    ...channelAlarms(bridgeName),
  ];
}

/**
 * Returns the alarms of the channels. Every sweep of the notifier measures how long each channel has taken nothing,
 * so a notifier that stops raises these alarms, too.
 */
function channelAlarms(bridgeName: string): readonly AlarmDefinition[] {
  const of = (metric: MetricName, statistic: string, period: Duration) =>
    bridgeMetric(metric, bridgeName, { statistic, period });
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
      means: 'A channel refused an alert for good. It is kept, and a person has to pass it on.',
      metric: of('AlertsRefused', 'Sum', Duration.minutes(5)),
      threshold: 0,
    },
  ];
}

/** Strangers call now and then, but this number of calls in five minutes means that tokens are being tried. */
const UNAUTHENTICATED_MAX = 100;

/** One failure among a handful of requests is more than this share, so the alarm needs it twice in a row. */
const API_FAILURES_PERCENT_MAX = 10;

export function apiAlarms(bridgeName: string, { httpApi }: Api): readonly AlarmDefinition[] {
  const period = FIVE_MINUTES;
  const sum = { statistic: 'Sum', period };
  return [
    {
      name: 'api-failing',
      means: `More than ${API_FAILURES_PERCENT_MAX} % of the answers of the API are failures (5xx).`,
      metric: percentage(httpApi.metricServerError(sum), httpApi.metricCount(sum), period),
      threshold: API_FAILURES_PERCENT_MAX,
      periods: 2,
    },
    {
      name: 'tokens-refused',
      means: `More than ${UNAUTHENTICATED_MAX} requests in five minutes came without a valid token.`,
      metric: bridgeMetric('TokensRefused', bridgeName, sum),
      threshold: UNAUTHENTICATED_MAX,
    },
    {
      name: 'audit-failed',
      means: 'A record of the audit could not be written; only the log has what was done.',
      metric: bridgeMetric('AuditFailed', bridgeName, sum),
      threshold: 0,
    },
    {
      name: 'key-echoed',
      means:
        'An answer of the upstream had the key of the account in it. No caller saw it, and calls that answer so fail.',
      metric: bridgeMetric('KeyEchoed', bridgeName, sum),
      threshold: 0,
    },
  ];
}

/** A bridge that ends no tasks has no alarm about them. */
export function callbackAlarms(config: BridgeConfig): readonly AlarmDefinition[] {
  if (!takesCallbacks(config)) return [];
  return [
    {
      name: 'callbacks-refused',
      means:
        'AWS denied the bridge the end of a task that waits for a command, or the bridge gave it up: a workflow waits.',
      metric: bridgeMetric('CallbacksRefused', config.name, { statistic: 'Sum', period: FIVE_MINUTES }),
      threshold: 0,
    },
  ];
}

export function commandAlarms(bridgeName: string, { deadLetters }: Commands): readonly AlarmDefinition[] {
  const sum = { statistic: 'Sum', period: FIVE_MINUTES };
  return [
    {
      name: 'commands-dead-letters',
      means:
        'The worker failed five times for one project: queued commands of it may wait until their deadlines.',
      metric: depthOf(deadLetters),
      threshold: 0,
    },
    {
      name: 'commands-unworkable',
      means: 'A queued command could not be read or opened; it settled as failed and was not sent.',
      metric: bridgeMetric('CommandsUnworkable', bridgeName, sum),
      threshold: 0,
    },
  ];
}

/** A single failed sweep is made good by the next one, a minute later. */
const ERRORS_MAX = 2;

/** Each function stops its own work before this share of its time-out, so a longer invocation waits for something that does not end. */
const DURATION_PERCENT_MAX = 95;

/** Beyond this share of its reserved instances a function has little room for one more busy caller. */
const RESERVED_PERCENT_MAX = 80;

/** Returns the alarms about a function that is invoked by requests or messages. The poller has one of its own, because it works until its time is over. */
export function functionAlarms({ name, lambda }: BridgeFunction): readonly AlarmDefinition[] {
  const sum = { period: FIVE_MINUTES, statistic: 'Sum' };
  const longestMs = (functionDefinitions[name].timeoutMs * DURATION_PERCENT_MAX) / 100;
  return [
    {
      name: `function-errors:${name}`,
      means: `More than ${ERRORS_MAX} invocations of the ${name} function fail in five minutes.`,
      metric: lambda.metricErrors(sum),
      threshold: ERRORS_MAX,
      periods: 2,
    },
    {
      name: `function-throttled:${name}`,
      means: `Lambda does not start the ${name} function: the AWS account, or what is reserved for the function, has no free instance.`,
      metric: lambda.metricThrottles(sum),
      threshold: 0,
      periods: 2,
    },
    {
      name: `function-slow:${name}`,
      means: `Invocations of the ${name} function take almost as long as Lambda lets them, and may be killed in the middle of their work.`,
      metric: lambda.metricDuration({ period: FIVE_MINUTES, statistic: 'Maximum' }),
      threshold: longestMs,
      periods: 2,
    },
  ];
}

/** Returns the alarm about a function that has almost as many instances at work as are reserved for it; none without a reservation. */
export function reservationAlarms(
  { name, lambda }: BridgeFunction,
  reserved: number | undefined,
): readonly AlarmDefinition[] {
  if (reserved === undefined) return [];
  return [
    {
      name: `function-crowded:${name}`,
      means: `More than ${RESERVED_PERCENT_MAX} % of the instances that are reserved for the ${name} function are at work.`,
      metric: lambda.metric('ConcurrentExecutions', { period: Duration.minutes(1), statistic: 'Maximum' }),
      threshold: (reserved * RESERVED_PERCENT_MAX) / 100,
      periods: 5,
    },
  ];
}

/** Returns the alarm about invocations of the poller that ended with an error or did not begin. */
export function pollerFailureAlarm(failures: sqs.Queue): AlarmDefinition {
  return {
    name: 'poller-failures',
    means: 'Invocations of the poller ended with an error or did not begin; the next minute tries again.',
    metric: depthOf(failures),
    threshold: 0,
  };
}
