/**
 * Deploys the HTTP API and its function. The front door lets the root and three path prefixes in, and the function decides who may
 * do what.
 */

import { CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type * as z from 'zod';
import { ALERT_LISTS } from '../../../functions/api/read-model/alerts.ts';
import { CHANNEL_NAMES } from '../../../functions/notifier/channels/channels.ts';
import type { ApiEnvironment, apiAccounts, SignInSettings } from '../../../shared/config/api-config.ts';
import { EVENT_SOURCE, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import {
  alertListOf,
  auditListOf,
  commandsListOf,
  incidentsListOf,
  linesOf,
  mutesListOf,
  PARTITIONS,
  projectsListOf,
  queuedCommandsOf,
  tokensListOf,
} from '../../../shared/store/keys.ts';
import { CREATED_INDEX, FEED_INDEX, LIST_INDEX, WORK_INDEX } from '../../../shared/store/table.ts';
import type { BridgeConfig } from '../../bridge-config.ts';
import { type BridgeBus, COMMAND_EVENTS, deliveryTo } from './bridge-bus.ts';
import { BridgeFunction, type BridgeFunctionProps } from './bridge-function.ts';
import { accountRulesEnvironment, type State, upstreamKeysArn } from './state.ts';

export interface ApiProps {
  readonly config: BridgeConfig;
  readonly state: State;
  readonly events: BridgeBus;
  /** Wakes the worker that sends queued commands. */
  readonly commandsQueue: sqs.Queue;
  /** Keys the seals of queued commands. */
  readonly queueKey: secretsmanager.Secret;
  readonly common: Omit<BridgeFunctionProps, 'environment' | 'functionName'>;
}

type Surroundings = Omit<ApiProps, 'config' | 'common'>;

/** Of other paths only the root reaches the function. */
const PREFIXES = ['/api/v2', '/bridge/v1', '/console'];

export class Api extends Construct {
  readonly fn: BridgeFunction;
  readonly httpApi: apigateway.HttpApi;

  constructor(scope: Construct, { config, common, ...surroundings }: ApiProps) {
    super(scope, 'Api');
    this.fn = new BridgeFunction(this, 'api', {
      ...common,
      functionName: `${config.name}-api`,
      environment: environmentOf(config, surroundings),
      ...reserved(config.reserved_concurrency.api),
    });
    this.grantWhatItUses(config, surroundings);
    this.fn.grant('Wake', ['sqs:SendMessage'], [surroundings.commandsQueue.queueArn]);
    this.httpApi = this.frontDoor(config, common);
    const output = new CfnOutput(this, 'BaseUrl', {
      value: this.httpApi.apiEndpoint,
      description: 'The bridge: the API is below it, and the console at /console',
    });
    // People and scripts name it, so it has no suffix of the CDK.
    output.overrideLogicalId('ApiBaseUrl');
  }

  private grantWhatItUses(config: BridgeConfig, { state, events, queueKey }: Surroundings): void {
    this.fn.grantItems(state.table.tableArn);
    this.fn.grantPartition(state.table.tableArn, 'accounts');
    const [work, feed, created, list] = [WORK_INDEX, FEED_INDEX, CREATED_INDEX, LIST_INDEX].map(({ name }) =>
      state.indexArn(name),
    ) as [string, string, string, string];
    this.fn.grantQueryOfAccounts('Accounts', [work, feed]);
    this.fn.grantQuery('Lines', [work], [linesOf('*'), queuedCommandsOf('*')]);
    this.fn.grantQuery('Created', [created], [PARTITIONS.protocol]);
    this.fn.grantQuery(
      'List',
      [list],
      [
        ...[projectsListOf, auditListOf, commandsListOf, tokensListOf, mutesListOf].map((listOf) =>
          listOf('*'),
        ),
        ...(['open', 'ended'] as const).map((one) => incidentsListOf('*', one)),
        ...ALERT_LISTS.map((part) => alertListOf('*', part)),
      ],
    );
    this.fn.grant('Publish', ['events:PutEvents'], [events.bus.eventBusArn], {
      StringEquals: { 'events:source': EVENT_SOURCE },
      'ForAllValues:StringEquals': { 'events:detail-type': COMMAND_EVENTS },
    });
    this.fn.grant('Trigger', ['events:PutEvents'], [events.bus.eventBusArn], {
      StringEquals: { 'events:source': TEST_EVENT_SOURCE },
    });
    this.grantSightOfTheBus(config, events);
    const keys = config.accounts.map(
      ({ key_secret_arn, command_key_secret_arn }) => command_key_secret_arn ?? key_secret_arn,
    );
    this.fn.grant(
      'Secrets',
      ['secretsmanager:GetSecretValue'],
      [
        ...new Set([
          ...keys,
          config.api.token_pepper_secret_arn,
          queueKey.secretArn,
          ...signInSecretOf(config),
          ...answeringSecretsOf(config),
          upstreamKeysArn(config),
        ]),
      ],
    );
  }

  /** AWS lists rules and gives figures of metrics without regard to resources. */
  private grantSightOfTheBus(config: BridgeConfig, events: BridgeBus): void {
    const { partition, region, account } = Stack.of(this);
    const rules = `arn:${partition}:events:${region}:${account}:rule/${config.name}/*`;
    this.fn.grant('Rules', ['events:ListRules', 'cloudwatch:GetMetricData'], ['*']);
    this.fn.grant('Targets', ['events:ListTargetsByRule'], [rules]);
    this.fn.grant(
      'DeadLetters',
      ['sqs:GetQueueAttributes'],
      [events.undelivered.queueArn, ...config.api.dead_letter_queue_arns],
    );
    if (events.log !== undefined) this.fn.grant('BusLog', ['logs:FilterLogEvents'], [events.log.logGroupArn]);
  }

  private frontDoor(config: BridgeConfig, { logRetention, dataKey }: ApiProps['common']): apigateway.HttpApi {
    const httpApi = new apigateway.HttpApi(this, 'HttpApi', {
      apiName: config.name,
      createDefaultStage: false,
    });
    const integration = new HttpLambdaIntegration('Integration', this.fn.lambda);
    for (const prefix of PREFIXES) {
      httpApi.addRoutes({ path: `${prefix}/{proxy+}`, methods: [apigateway.HttpMethod.ANY], integration });
    }
    // The root sends a browser to the console.
    for (const path of ['/console', '/'])
      httpApi.addRoutes({ path, methods: [apigateway.HttpMethod.GET], integration });
    const accessLog = new logs.LogGroup(this, 'AccessLog', {
      logGroupName: `/aws/apigateway/${config.name}`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      ...(dataKey && { encryptionKey: dataKey }),
    });
    const delivery = accessLog.addToResourcePolicy(deliveryTo(accessLog));
    const stage = new apigateway.CfnStage(this, 'Stage', {
      apiId: httpApi.apiId,
      stageName: '$default',
      autoDeploy: true,
      defaultRouteSettings: {
        throttlingRateLimit: config.api.requests_per_second,
        throttlingBurstLimit: config.api.requests_per_second * 2,
      },
      accessLogSettings: {
        destinationArn: accessLog.logGroupArn,
        // The log must contain no path, query or header: ids belong in the audit, and secrets belong nowhere.
        format: JSON.stringify({
          requestId: '$context.requestId',
          route: '$context.routeKey',
          status: '$context.status',
          latencyMs: '$context.responseLatency',
          sourceIp: '$context.identity.sourceIp',
        }),
      },
    });
    stage.node.addDependency(httpApi);
    if (delivery.policyDependable !== undefined) stage.node.addDependency(delivery.policyDependable);
    return httpApi;
  }
}

/**
 * Names the secret that keys the seals of queued commands. Functions have the name and not the ARN, which is longer and known
 * only once it is deployed, because their environment takes 4 KB.
 */
export function queueKeyNameOf({ name }: Pick<BridgeConfig, 'name'>): string {
  return `${name}/queue-key`;
}

/** A function's environment as it is deployed, in which every value is a text. */
export type Variables<Environment> = { readonly [Name in keyof Environment]: string };

/** AWS accepts no fewer consumers of a queue. Each works on ten projects at once, and the rate limit bounds the rest. */
export const COMMAND_CONSUMERS_MAX = 2;

/**
 * Returns how many instances may send commands at once. Without a reservation the API counts as many as the front door
 * lets requests in a second, because a request that does not wait takes less than a second.
 */
export function sendingInstancesMaxOf({ reserved_concurrency, api }: BridgeConfig): number {
  return (reserved_concurrency.api ?? api.requests_per_second) + COMMAND_CONSUMERS_MAX;
}

export function takesCallbacks({ callbacks }: Pick<BridgeConfig, 'callbacks'>): boolean {
  return callbacks.state_machine_arns.length > 0;
}

/** The accounts as the functions that send commands know them. */
export function commandAccountsOf(config: BridgeConfig): z.input<typeof apiAccounts> {
  return config.accounts.map((account) => ({
    account_id: account.account_id,
    upstream_base_url: account.upstream_base_url,
    ...(account.upstream_page_url && { upstream_page_url: account.upstream_page_url }),
    key_secret_id: account.command_key_secret_arn ?? account.key_secret_arn,
    requests_per_minute: account.command_requests_per_minute,
    requests_per_second: account.command_requests_per_second,
    caller_requests_per_minute: account.caller_requests_per_minute,
    poller_requests_per_minute: account.poller_requests_per_minute,
    limit_requests_per_minute: account.limit_requests_per_minute,
    settle_within_seconds: account.settle_within_seconds,
    caller_waits_max: account.caller_waits_max,
    command_deadline_seconds_max: account.command_deadline_seconds_max,
    ...(account.compute_unit_hour_price && { compute_unit_hour_price: account.compute_unit_hour_price }),
    ...(account.poll_interval_seconds !== undefined && {
      poll_interval_seconds: account.poll_interval_seconds,
    }),
  }));
}

function environmentOf(
  config: BridgeConfig,
  { state, events, commandsQueue }: Omit<Surroundings, 'queueKey'>,
): Record<string, string> {
  const { oidc, sign_in, extra_routes, open_calls, token_pepper_secret_arn } = config.api;
  const environment: Partial<Variables<ApiEnvironment>> = {
    TABLE_NAME: state.table.tableName,
    EVENT_BUS_NAME: events.bus.eventBusName,
    ACCOUNTS: JSON.stringify(commandAccountsOf(config)),
    SENDING_INSTANCES_MAX: String(sendingInstancesMaxOf(config)),
    ...accountRulesEnvironment(config),
    COMMANDS_QUEUE_URL: commandsQueue.queueUrl,
    ALERT_CHANNELS: JSON.stringify(CHANNEL_NAMES),
    DEAD_LETTER_QUEUES: JSON.stringify(config.api.dead_letter_queue_arns),
    TOKEN_PEPPER_SECRET_ID: token_pepper_secret_arn,
    QUEUE_KEY_SECRET_ID: queueKeyNameOf(config),
    EXTRA_ROUTES: JSON.stringify(extra_routes),
    OPEN_CALLS: JSON.stringify(open_calls),
    ...(takesCallbacks(config) && { CALLBACKS: 'on' }),
    ...(config.bus_log && { BUS_LOG: 'on' }),
    POWERTOOLS_SERVICE_NAME: 'api',
    ...(config.alerts.slack_webhook_secret_arn && {
      SLACK_SECRET_ID: config.alerts.slack_webhook_secret_arn,
    }),
    ...(config.alerts.pagerduty_secret_arn && {
      PAGERDUTY_SECRET_ID: config.alerts.pagerduty_secret_arn,
    }),
    ...(oidc && {
      OIDC_ISSUER: oidc.issuer,
      OIDC_AUDIENCE: oidc.audience,
      ...(oidc.access_token_audience && { OIDC_ACCESS_TOKEN_AUDIENCE: oidc.access_token_audience }),
      OIDC_ACCOUNT_ID: oidc.account_id,
      ...(oidc.jwks_url && { OIDC_JWKS_URL: oidc.jwks_url }),
    }),
    PROJECT_LABELS: JSON.stringify(config.alerts.policy.labels),
    ...(sign_in && { SIGN_IN: JSON.stringify(signInSettingsOf(sign_in)) }),
  };
  return environment;
}

function signInSettingsOf({
  client_secret_arn,
  ...settings
}: NonNullable<BridgeConfig['api']['sign_in']>): SignInSettings {
  return { ...settings, ...(client_secret_arn && { client_secret_id: client_secret_arn }) };
}

/** The API checks with these what Slack and PagerDuty send when a person answers an alert there. */
function answeringSecretsOf({ alerts }: BridgeConfig): readonly string[] {
  return [alerts.slack_webhook_secret_arn ?? [], alerts.pagerduty_secret_arn ?? []].flat();
}

function signInSecretOf({ api }: BridgeConfig): readonly string[] {
  const secret = api.sign_in?.client_secret_arn;
  return secret === undefined ? [] : [secret];
}

function reserved(reservedConcurrency: number | undefined) {
  return reservedConcurrency === undefined ? {} : { reservedConcurrency };
}
