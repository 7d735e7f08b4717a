/**
 * Deploys the worker that sends queued commands: a FIFO queue that wakes it, the key that seals what waits, a rule that wakes
 * it when an operation ends, a schedule that sweeps, and the function with a role of its own.
 */

import { Duration } from 'aws-cdk-lib';
import * as cdkEvents from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  type CommandsEnvironment,
  commandEndedPattern,
  commandsQueue,
  commandsSchedule,
  lockReleasedPattern,
} from '../../../functions/commands/invocation.ts';
import { APPROVAL_DETAIL_TYPE } from '../../../shared/events/approval-event.ts';
import { linesOf } from '../../../shared/store/keys.ts';
import { WORK_INDEX } from '../../../shared/store/table.ts';
import type { BridgeConfig } from '../../bridge-config.ts';
import {
  COMMAND_CONSUMERS_MAX,
  commandAccountsOf,
  queueKeyNameOf,
  sendingInstancesMaxOf,
  takesCallbacks,
  type Variables,
} from './api.ts';
import { type BridgeBus, COMMAND_EVENTS, sendFromRule } from './bridge-bus.ts';
import { addSweep, BridgeFunction, type BridgeFunctionProps } from './bridge-function.ts';
import type { State } from './state.ts';
import { accountRulesEnvironment, queueEncryption, upstreamKeysArn } from './state.ts';

export interface CommandsProps {
  readonly config: BridgeConfig;
  readonly state: State;
  readonly events: BridgeBus;
  readonly queue: CommandsQueue;
  readonly common: Omit<BridgeFunctionProps, 'environment' | 'functionName'>;
}

/** As many characters as 32 bytes have in hex. Each is one of 62, so they hold more than 32 bytes do. */
const QUEUE_KEY_CHARACTERS = 64;

/** The queue and its key are apart from the worker, because the API sends to it and seals with it, too. */
export class CommandsQueue extends Construct {
  readonly queue: sqs.Queue;
  readonly deadLetters: sqs.Queue;
  /** It keys the seals of what waits in line. AWS makes its text, which no person and no template has. */
  readonly key: secretsmanager.Secret;

  constructor(scope: Construct, config: BridgeConfig, dataKey: kms.IKey | undefined) {
    super(scope, 'CommandsQueue');
    this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
      queueName: `${config.name}-commands-dead-letters.fifo`,
      fifo: true,
      retentionPeriod: Duration.days(14),
      enforceSSL: true,
      ...queueEncryption(dataKey),
    });
    this.queue = new sqs.Queue(this, 'Queue', {
      queueName: `${config.name}-commands.fifo`,
      fifo: true,
      // Ids of wakes are unique within a project, and projects do not share a limit of throughput.
      deduplicationScope: sqs.DeduplicationScope.MESSAGE_GROUP,
      fifoThroughputLimit: sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      visibilityTimeout: Duration.millis(commandsQueue.visibilityTimeoutMs),
      // What a lost wake would have done, a sweep does within a minute, so an old message is of no use.
      retentionPeriod: Duration.hours(1),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: commandsQueue.receiveCountMax },
      enforceSSL: true,
      ...queueEncryption(dataKey),
    });
    this.key = new secretsmanager.Secret(this, 'Key', {
      secretName: queueKeyNameOf(config),
      description: `Seals the queued commands of ${config.name}; a new value ends those that wait`,
      generateSecretString: { passwordLength: QUEUE_KEY_CHARACTERS, excludePunctuation: true },
    });
  }
}

export class Commands extends Construct {
  readonly fn: BridgeFunction;
  readonly deadLetters: sqs.Queue;

  constructor(scope: Construct, { config, state, events, queue, common }: CommandsProps) {
    super(scope, 'Commands');
    this.deadLetters = queue.deadLetters;
    this.fn = new BridgeFunction(this, 'commands', {
      ...common,
      functionName: `${config.name}-commands`,
      environment: environmentOf(config, { state, events, queue }),
    });
    new lambda.EventSourceMapping(this, 'Source', {
      target: this.fn.lambda,
      eventSourceArn: queue.queue.queueArn,
      batchSize: commandsQueue.batchSize,
      reportBatchItemFailures: true,
      maxConcurrency: COMMAND_CONSUMERS_MAX,
    });
    this.addRule(config, events);
    // This invokes the function every minute, so that it wakes the lines that a crash left without a message.
    addSweep(this, {
      name: `${config.name}-commands-sweep`,
      everyMs: commandsSchedule.everyMs,
      fn: this.fn.lambda,
      undelivered: events.undelivered,
    });
    this.grantWhatItUses(config, { state, events, queue });
  }

  /** Invokes the function when an operation ends, because a command may wait for that. */
  private addRule(config: BridgeConfig, { bus, undelivered }: BridgeBus): void {
    const rule = new cdkEvents.CfnRule(this, 'LockReleased', {
      name: `${config.name}-lock-released`,
      eventBusName: bus.eventBusName,
      eventPattern: takesCallbacks(config) ? commandEndedPattern : lockReleasedPattern,
      targets: [
        {
          id: 'commands',
          arn: this.fn.lambda.functionArn,
          retryPolicy: { maximumEventAgeInSeconds: 60, maximumRetryAttempts: 2 },
          deadLetterConfig: { arn: undelivered.queueArn },
        },
      ],
    });
    this.fn.lambda.addPermission('InvokeFromRule', {
      principal: new iam.ServicePrincipal('events.amazonaws.com'),
      sourceArn: rule.attrArn,
    });
    undelivered.addToResourcePolicy(sendFromRule(undelivered, rule.attrArn));
  }

  private grantWhatItUses(config: BridgeConfig, { state, events, queue }: Surroundings): void {
    this.fn.grantItems(state.table.tableArn);
    this.fn.grantPartition(state.table.tableArn, 'accounts');
    this.fn.grantQueryOfAccounts('Work', [state.indexArn(WORK_INDEX.name)]);
    this.fn.grantQuery('Lines', [state.indexArn(WORK_INDEX.name)], [linesOf('*')]);
    this.fn.grant('Publish', ['events:PutEvents'], [events.bus.eventBusArn], {
      'ForAllValues:StringEquals': { 'events:detail-type': [...COMMAND_EVENTS, APPROVAL_DETAIL_TYPE] },
    });
    this.fn.grant(
      'Queue',
      [
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:ChangeMessageVisibility',
        'sqs:GetQueueAttributes',
        'sqs:SendMessage',
      ],
      [queue.queue.queueArn],
    );
    this.fn.grant('Undelivered', ['sqs:SendMessage'], [events.undelivered.queueArn]);
    const keys = config.accounts.map(
      ({ key_secret_arn, command_key_secret_arn }) => command_key_secret_arn ?? key_secret_arn,
    );
    const secrets = [...new Set([...keys, upstreamKeysArn(config), queue.key.secretArn])];
    this.fn.grant('Secrets', ['secretsmanager:GetSecretValue'], secrets);
    if (takesCallbacks(config))
      // `StateMachine.grantTaskResponse` of the CDK writes the same.
      this.fn.grant(
        'Callbacks',
        ['states:SendTaskSuccess', 'states:SendTaskFailure', 'states:SendTaskHeartbeat'],
        config.callbacks.state_machine_arns,
      );
  }
}

interface Surroundings {
  readonly state: State;
  readonly events: BridgeBus;
  readonly queue: CommandsQueue;
}

function environmentOf(config: BridgeConfig, { state, events, queue }: Surroundings): Record<string, string> {
  return {
    TABLE_NAME: state.table.tableName,
    EVENT_BUS_NAME: events.bus.eventBusName,
    ACCOUNTS: JSON.stringify(commandAccountsOf(config)),
    SENDING_INSTANCES_MAX: String(sendingInstancesMaxOf(config)),
    ...accountRulesEnvironment(config),
    QUEUE_KEY_SECRET_ID: queueKeyNameOf(config),
    COMMANDS_QUEUE_URL: queue.queue.queueUrl,
    ...(takesCallbacks(config) && { CALLBACKS: 'on' }),
    POWERTOOLS_SERVICE_NAME: 'commands',
  } satisfies Partial<Variables<CommandsEnvironment>>;
}
