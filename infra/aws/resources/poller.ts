/**
 * Deploys the poller. Each lane has a function and a schedule, which invokes it once a minute with the accounts of the
 * lane. Failed invocations go to a queue.
 */

import { Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as destinations from 'aws-cdk-lib/aws-lambda-destinations';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { laneOf } from '../../../shared/accounts/account.ts';
import {
  type PollAccountRequest,
  type PollerEnvironment,
  type PollLaneRequest,
  pollerSchedule,
} from '../../../shared/config/poller-config.ts';
import { PARTITIONS, parkedWorkOf, wishesOf } from '../../../shared/store/keys.ts';
import { CREATED_INDEX, FEED_INDEX, WORK_INDEX } from '../../../shared/store/table.ts';
import { type BridgeConfig, laneCountOf } from '../../bridge-config.ts';
import { functionDefinitions } from '../../functions.ts';
import { type BridgeBus, sendTo } from './bridge-bus.ts';
import { BridgeFunction, type BridgeFunctionProps } from './bridge-function.ts';
import { accountRulesEnvironment, queueEncryption, type State, upstreamKeysArn } from './state.ts';

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
    const [first, ...others] = lanesOf(config);
    const memoryMb = first?.memoryMb ?? functionDefinitions.poller.memoryMb;
    const environment = {
      TABLE_NAME: state.table.tableName,
      EVENT_BUS_NAME: events.bus.eventBusName,
      POWERTOOLS_SERVICE_NAME: 'poller',
      ...accountRulesEnvironment(config),
      ...heapOptions(memoryMb),
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
      ...queueEncryption(common.dataKey),
    });
    // A lane has a function of its own, so that its invocations find the accounts of the lane in a warm environment.
    const functions = others.map((lane) => [lane, this.functionOf(lane, config)] as const);
    this.grantWhatItUses(config, state, events);
    const all = first === undefined ? functions : [[first, this.fn.lambda] as const, ...functions];
    for (const [, fn] of all) this.sendFailures(fn);
    this.addSchedules(config, all);
  }

  private functionOf({ number, memoryMb }: Lane, { name }: BridgeConfig): lambda.Function {
    return this.fn.again(`Lane-${number}`, {
      functionName: `${name}-poller-${number}`,
      memoryMb,
      environment: heapOptions(memoryMb),
    });
  }

  /** The invocation of the next minute is the retry. A late retry would only meet it. */
  private sendFailures(fn: lambda.Function): void {
    fn.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: Duration.seconds(60),
      onFailure: new destinations.SqsDestination(this.failures),
    });
  }

  /**
   * Grants the poller what it uses: it reads and updates items, queries three indexes and publishes to one bus. It
   * deletes nothing and puts no whole item.
   */
  private grantWhatItUses(config: BridgeConfig, state: State, events: BridgeBus): void {
    const work = state.indexArn(WORK_INDEX.name);
    this.fn.grantItems(state.table.tableArn);
    this.fn.grantPartition(state.table.tableArn, 'accounts');
    this.fn.grantPartition(state.table.tableArn, 'lanes');
    this.fn.grantQueryOfAccounts('Accounts', [work, state.indexArn(FEED_INDEX.name)]);
    this.fn.grantQuery('Wishes', [work], [wishesOf('*'), parkedWorkOf('*')]);
    this.fn.grantQuery('Created', [state.indexArn(CREATED_INDEX.name)], [PARTITIONS.protocol]);
    this.fn.grant('Publish', ['events:PutEvents'], [events.bus.eventBusArn]);
    const keys = config.accounts.map(({ key_secret_arn }) => key_secret_arn);
    this.fn.grant(
      'UpstreamKeys',
      ['secretsmanager:GetSecretValue'],
      [...new Set([...keys, upstreamKeysArn(config)])],
    );
    this.fn.grant('Failures', ['sqs:SendMessage'], [this.failures.queueArn]);
  }

  private addSchedules(config: BridgeConfig, lanes: readonly (readonly [Lane, lambda.Function])[]): void {
    const role = new iam.Role(this, 'ScheduleRole', {
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    });
    // The CDK would divide the policy of a role that it adds to statement by statement, and the part with the ARNs of
    // eighty lanes would then be a managed policy, which has no room for them. An inline policy has.
    new iam.Policy(role, 'DefaultPolicy', {
      roles: [role],
      statements: [
        new iam.PolicyStatement({
          actions: ['lambda:InvokeFunction'],
          resources: lanes.map(([, fn]) => fn.functionArn),
        }),
        ...sendTo(this.failures),
      ],
    });
    for (const [{ number, request }, fn] of lanes) {
      new scheduler.CfnSchedule(this, `Schedule-Lane-${number}`, {
        name: `${config.name}-lane-${number}`,
        scheduleExpression: `rate(${pollerSchedule.everyMs / 60_000} minute)`,
        flexibleTimeWindow: { mode: 'OFF' },
        target: {
          arn: fn.functionArn,
          roleArn: role.roleArn,
          input: JSON.stringify(request),
          retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: 60 },
          deadLetterConfig: { arn: this.failures.queueArn },
        },
      });
    }
  }
}

/** Node itself, the code, and Lambda's runtime need this much memory beside the heap (docs/performance.md). */
const OUTSIDE_THE_HEAP_MB = 112;

/**
 * A lane of many accounts makes so much garbage that with one megabyte for the young generation its collection takes
 * two fifths of the processor time. From this memory on there is room for more.
 */
const ROOMY_MB = 256;

function heapOptions(memoryMb: number): { readonly NODE_OPTIONS: string } {
  const isRoomy = memoryMb >= ROOMY_MB;
  const oldMb = memoryMb - OUTSIDE_THE_HEAP_MB - (isRoomy ? 24 : 0);
  return { NODE_OPTIONS: `--max-old-space-size=${oldMb} --max-semi-space-size=${isRoomy ? 8 : 1}` };
}

interface Lane {
  readonly number: number;
  readonly memoryMb: number;
  /** The schedule of the lane passes this, which is exactly what the handler parses. */
  readonly request: PollLaneRequest;
}

function lanesOf(config: BridgeConfig): readonly Lane[] {
  const laneCount = laneCountOf(config);
  const usualMemoryMb = config.poller_memory_mb ?? functionDefinitions.poller.memoryMb;
  return Array.from({ length: laneCount }, (_, number) => {
    const isOwn = (account: BridgeConfig['accounts'][number]) =>
      laneOf(account, laneCount, config.lanes) === number;
    const others = config.accounts.filter((account) => !isOwn(account));
    return {
      number,
      memoryMb: config.own_lanes[number - config.lanes]?.memory_mb ?? usualMemoryMb,
      request: {
        lane: number,
        lanes: laneCount,
        shared_lanes: config.lanes,
        accounts: config.accounts.filter(isOwn).map(pollRequestOf),
        ...(others.length > 0 && { other_account_ids: others.map(({ account_id }) => account_id) }),
      },
    };
  });
}

function pollRequestOf(account: BridgeConfig['accounts'][number]): PollAccountRequest {
  const { account_id, upstream_base_url, key_secret_arn, poller_requests_per_minute } = account;
  const { command_requests_per_minute, limit_requests_per_minute } = account;
  const { poll_interval_seconds, linger_seconds, stalled_after_seconds, backfill, project_ids, usage } =
    account;
  return {
    account_id,
    upstream_base_url,
    key_secret_id: key_secret_arn,
    requests_per_minute: poller_requests_per_minute,
    command_requests_per_minute,
    limit_requests_per_minute,
    ...(poll_interval_seconds !== undefined && { poll_interval_seconds }),
    linger_seconds,
    stalled_after_seconds,
    backfill,
    usage,
    ...(project_ids && { project_ids }),
  };
}
