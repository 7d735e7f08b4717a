/** Builds the bridge as one stack from its configuration. */

import { Stack, type StackProps, Tags } from 'aws-cdk-lib';
import type * as logs from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { BridgeConfig } from '../bridge-config.ts';
import type { FunctionName } from '../functions.ts';
import { Alarms } from './resources/alarms.ts';
import { Api } from './resources/api.ts';
import { BridgeBus } from './resources/bridge-bus.ts';
import { Commands, CommandsQueue } from './resources/commands.ts';
import { Dashboard } from './resources/dashboard.ts';
import { Notifier } from './resources/notifier.ts';
import { Poller } from './resources/poller.ts';
import { dataKeyOf, State } from './resources/state.ts';

export interface BridgeStackProps extends StackProps {
  readonly config: BridgeConfig;
  /** Returns the folder of a function's bundle. */
  readonly bundleOf: (name: FunctionName) => string;
}

export class BridgeStack extends Stack {
  constructor(scope: Construct, id: string, { config, bundleOf, ...props }: BridgeStackProps) {
    super(scope, id, { description: 'Operations Bridge: events of hosted Postgres operations', ...props });
    const dataKey = dataKeyOf(this, config);
    const logRetention = config.log_retention_days as logs.RetentionDays;
    const common = (name: FunctionName) => ({ bundle: bundleOf(name), logRetention, dataKey });
    const roleArn = (name: FunctionName) =>
      `arn:${this.partition}:iam::${this.account}:role/${config.name}-${name}-${this.region}`;
    const state = new State(this, { tableName: config.name, dataKey });
    const events = new BridgeBus(this, {
      busName: config.name,
      archiveDays: config.archive_days,
      dataKey,
      logRetention: config.bus_log ? logRetention : undefined,
      publisherRoleArns: [roleArn('poller'), roleArn('api'), roleArn('commands')],
    });
    const poller = new Poller(this, { config, state, events, common: common('poller') });
    const queue = new CommandsQueue(this, config, dataKey);
    const queued = { commandsQueue: queue.queue, queueKey: queue.key };
    const api = new Api(this, { config, state, events, ...queued, common: common('api') });
    const commands = new Commands(this, { config, state, events, queue, common: common('commands') });
    const base = config.api.sign_in?.base_url;
    const consoleBaseUrl = base === undefined ? api.httpApi.apiEndpoint : new URL(base).origin;
    const notifier = new Notifier(this, {
      config,
      state,
      events,
      consoleBaseUrl,
      common: common('notifier'),
    });
    const parts = { config, dataKey, events, poller, api, commands, notifier };
    new Alarms(this, parts);
    if (config.dashboard) new Dashboard(this, parts);
    for (const [name, value] of Object.entries(config.tags)) Tags.of(this).add(name, value);
  }
}
