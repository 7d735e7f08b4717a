/**
 * Deploys the poller. One schedule per account invokes it, concurrency is capped at the number of accounts, and
 * failed invocations go to a queue.
 */

import { Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as destinations from 'aws-cdk-lib/aws-lambda-destinations';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  type PollAccountRequest,
  type PollerEnvironment,
  pollerSchedule,
} from '../../../shared/config/poller-config.ts';
import { PARTITIONS, wishesOf, workOf } from '../../../shared/store/keys.ts';
import { CREATED_INDEX, FEED_INDEX, WORK_INDEX } from '../../../shared/store/table.ts';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import { functionDefinitions } from '../../functions.ts';
import { type BridgeBus, sendTo } from './bridge-bus.ts';
import { BridgeFunction, type BridgeFunctionProps } from './bridge-function.ts';
import type { State } from './state.ts';

export interface PollerProps {
  readonly config: BridgeConfig;
  readonly state: State;
  readonly events: BridgeBus;
  readonly common: Omit<BridgeFunctionProps, 'environment' | 'functionName'>;
}

export class Poller extends Construct {
  readonly fn: BridgeFunction;
  readonly failures: sqs.Queue;

  constructor(scope: Construct, { config, state, events, common }: PollerProps) {
    super(scope, 'Poller');
    const memoryMb = config.poller_memory_mb ?? functionDefinitions.poller.memoryMb;
    const environment = {
      TABLE_NAME: state.table.tableName,
      EVENT_BUS_NAME: events.bus.eventBusName,
      NODE_OPTIONS: heapFlags(memoryMb),
      POWERTOOLS_SERVICE_NAME: 'poller',
    } satisfies Partial<PollerEnvironment>;
    this.fn = new BridgeFunction(this, 'poller', {
      ...common,
      functionName: `${config.name}-poller`,
      environment,
      memoryMb,
      ...(config.reserved_concurrency.poller !== undefined && {
        reservedConcurrency: config.reserved_concurrency.poller,
      }),
    });
    this.failures = new sqs.Queue(this, 'Failures', {
      queueName: `${config.name}-poller-failures`,
      retentionPeriod: Duration.days(14),
      enforceSSL: true,
    });
    // The invocation of the next minute is the retry. A late retry would only meet it.
    this.fn.lambda.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: Duration.seconds(60),
      onFailure: new destinations.SqsDestination(this.failures),
    });
    this.grantWhatItUses(config, state, events);
    this.addSchedules(config);
  }

  /**
   * Grants the poller what it uses: it reads and updates items, queries three indexes and publishes to one bus. It
   * deletes nothing and puts no whole item.
   */
  private grantWhatItUses(config: BridgeConfig, state: State, events: BridgeBus): void {
    const accountIds = config.accounts.map(({ account_id }) => account_id);
    this.fn.grantItems(state.table.tableArn);
    this.fn.grantQuery('Work', [state.indexArn(WORK_INDEX.name)], [...accountIds.map(workOf), wishesOf('*')]);
    this.fn.grantQuery('Created', [state.indexArn(CREATED_INDEX.name)], [PARTITIONS.protocol]);
    this.fn.grantQuery('Feed', [state.indexArn(FEED_INDEX.name)], accountIds);
    this.fn.grant('Publish', ['events:PutEvents'], [events.bus.eventBusArn]);
    const keys = config.accounts.map(({ key_secret_arn }) => key_secret_arn);
    this.fn.grant('UpstreamKeys', ['secretsmanager:GetSecretValue'], [...new Set(keys)]);
    this.fn.grant('Failures', ['sqs:SendMessage'], [this.failures.queueArn]);
  }

  private addSchedules(config: BridgeConfig): void {
    const role = new iam.Role(this, 'ScheduleRole', {
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    role.addToPolicy(
      new iam.PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [this.fn.lambda.functionArn],
      }),
    );
    role.addToPolicy(sendTo(this.failures));
    for (const account of config.accounts) {
      new scheduler.CfnSchedule(this, `Schedule-${account.account_id}`, {
        name: `${config.name}-poll-${account.account_id}`,
        scheduleExpression: `rate(${pollerSchedule.everyMs / 60_000} minute)`,
        flexibleTimeWindow: { mode: 'OFF' },
        target: {
          arn: this.fn.lambda.functionArn,
          roleArn: role.roleArn,
          input: JSON.stringify(pollRequestOf(account)),
          retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 },
          deadLetterConfig: { arn: this.failures.queueArn },
        },
      });
    }
  }
}

/** Node itself, the code, and Lambda's runtime need this much memory beside the heap (docs/performance.md). */
const OUTSIDE_THE_HEAP_MB = 112;

function heapFlags(memoryMb: number): string {
  return `--max-old-space-size=${memoryMb - OUTSIDE_THE_HEAP_MB} --max-semi-space-size=1`;
}

/** Returns what the schedule passes, which is exactly what the handler parses. */
function pollRequestOf(account: BridgeConfig['accounts'][number]): PollAccountRequest {
  const { account_id, upstream_base_url, key_secret_arn, poller_requests_per_minute } = account;
  const { command_requests_per_minute, limit_requests_per_minute } = account;
  const { poll_interval_seconds, linger_seconds, stalled_after_seconds, backfill, project_ids } = account;
  return {
    account_id,
    upstream_base_url,
    key_secret_id: key_secret_arn,
    requests_per_minute: poller_requests_per_minute,
    command_requests_per_minute,
    limit_requests_per_minute,
    poll_interval_seconds,
    linger_seconds,
    stalled_after_seconds,
    backfill,
    ...(project_ids && { project_ids }),
  };
}
