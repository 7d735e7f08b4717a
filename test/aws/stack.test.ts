/** Compares what is deployed with the definitions that the code and the local bridge use. */

import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { alertRulePattern } from '../../functions/notifier/deciding/notice-of-event.ts';
import { alertPolicySchema, notifierQueue } from '../../functions/notifier/environment.ts';
import { CANARY_SOURCE } from '../../infra/aws/resources/bridge-bus.ts';
import { ACCESS } from '../../infra/aws/resources/bridge-function.ts';
import { ACKNOWLEDGED } from '../../infra/aws/rules.ts';
import { ACCOUNTS_MAX } from '../../infra/bridge-config.ts';
import { type FunctionName, functionDefinitions } from '../../infra/functions.ts';
import { apiEnvironment, readApiSettings } from '../../shared/config/api-config.ts';
import { pollLaneRequest } from '../../shared/config/poller-config.ts';
import { APPROVAL_SOURCE } from '../../shared/events/approval-event.ts';
import { eventCatalog } from '../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../shared/events/event-names.ts';
import {
  ACKNOWLEDGED_WORK,
  accountItemKey,
  accountKey,
  alertChannelKey,
  alertIncidentKey,
  alertNoticeKey,
  alertWorkOf,
  auditKey,
  idempotencyKey,
  incidentKey,
  MUTES_WORK,
  muteKey,
  PARTITIONS,
  projectKey,
  tokenKey,
  wishesOf,
  wishKey,
  workOf,
} from '../../shared/store/keys.ts';
import { INDEXES, tableDefinition } from '../../shared/store/table.ts';
import type { Access } from '../../shared/store/table-access.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { type Resource, type Synthesized, synthesize } from './stack-under-test.ts';

let stack: Synthesized;
beforeAll(() => {
  stack = synthesize();
});

const FUNCTIONS = Object.keys(functionDefinitions) as FunctionName[];

const functionOf = (name: FunctionName): Resource => {
  const found = stack
    .ofType('AWS::Lambda::Function')
    .find(({ Properties }) => Properties.FunctionName === `operations-bridge-${name}`);
  if (found === undefined) throw new Error(`There is no function ${name}`);
  return found;
};

/** Reads the environment as the function will see it, with references replaced by names. */
const environmentOf = (name: FunctionName): Record<string, string> => {
  const variables = functionOf(name).Properties.Environment.Variables as Record<string, unknown>;
  const fromProcess = Object.entries(variables).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : 'https://resolved.example/resolved',
  ]);
  return { ...stack.filedOf(name), ...(Object.fromEntries(fromProcess) as Record<string, string>) };
};

describe('the table', () => {
  test('has the keys and indexes of its definition', () => {
    const [table] = stack.ofType('AWS::DynamoDB::Table');
    const definition = tableDefinition('operations-bridge');
    const byName = (list: { AttributeName?: string | undefined }[]) =>
      list.toSorted((a, b) => String(a.AttributeName).localeCompare(String(b.AttributeName)));

    expect(table?.Properties.KeySchema).toEqual(definition.KeySchema);
    expect(table?.Properties.GlobalSecondaryIndexes).toEqual(definition.GlobalSecondaryIndexes);
    expect(byName(table?.Properties.AttributeDefinitions)).toEqual(
      byName([...(definition.AttributeDefinitions ?? [])]),
    );
  });

  test('is protected against deletion and keeps point-in-time backups', () => {
    const [table] = stack.ofType('AWS::DynamoDB::Table');

    expect(table?.DeletionPolicy).toBe('Retain');
    expect(table?.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
    });
  });

  test('gets the same expiry, protection and recovery back when it is restored by hand', () => {
    const commands = section('docs/operations.md', '## Restoring the table');

    expect(commands).toContain('--time-to-live-specification Enabled=true,AttributeName=expires_at');
    expect(commands).toContain('--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true');
    expect(commands).toContain('--table-name "$NAME" --deletion-protection-enabled');
    expect(commands).toContain('restore-table-from-backup --target-table-name "$NAME"');
  });
});

test('the page on tearing down names the rules of the bridge itself, because all others have to be removed before', () => {
  const names = stack.ofType('AWS::Events::Rule').map(({ Properties }) => String(Properties.Name));
  const page = readFileSync('docs/deploy/tear-down.md', 'utf8');

  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('the logs outlive the stack, and a first deployment that fails takes them back, so that their names are free', () => {
  const logs = synthesize({ bus_log: true }).ofType('AWS::Logs::LogGroup');

  expect(logs.map(({ DeletionPolicy }) => DeletionPolicy)).toEqual(
    Array.from({ length: 6 }, () => 'RetainExceptOnCreate'),
  );
});

/** Returns the text of a page from a heading to the next one of its rank or above. */
function section(page: string, heading: string): string {
  const [, text = ''] = readFileSync(page, 'utf8').split(`${heading}\n`);
  return text.split(/^#{1,2} /m)[0] ?? '';
}

describe('the functions', () => {
  test.each(FUNCTIONS)('%s has an environment that its own schema accepts', (name) => {
    const parsed = functionDefinitions[name].environment.safeParse(environmentOf(name));

    expect(parsed.error).toBeUndefined();
    const known = Object.keys(functionDefinitions[name].environment.shape);
    expect(Object.keys(environmentOf(name)).filter((variable) => !known.includes(variable))).toEqual([]);
  });

  test.each(FUNCTIONS)(
    '%s runs on Node 24 and arm64, is traced, and has the memory and time of its definition',
    (name) => {
      expect(functionOf(name).Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        TracingConfig: { Mode: 'Active' },
        MemorySize: functionDefinitions[name].memoryMb,
        Timeout: Math.ceil(functionDefinitions[name].timeoutMs / 1_000),
      });
    },
  );

  test('the API gets the accounts and routes of the configuration', () => {
    const settings = readApiSettings(apiEnvironment.parse(environmentOf('api')));

    expect(
      settings.accounts.map(({ account_id, requests_per_minute }) => [account_id, requests_per_minute]),
    ).toEqual([['main', 250]]);
    expect(settings.extraRoutes.map(({ id }) => id)).toEqual(['startEndpoint']);
  });

  test('the notifier gets the policy of the configuration', () => {
    expect(alertPolicySchema.parse(JSON.parse(environmentOf('notifier')['ALERT_POLICY'] ?? ''))).toEqual(
      stack.config.alerts.policy,
    );
  });
});

describe('polling', () => {
  const schedules = () =>
    stack
      .ofType('AWS::Scheduler::Schedule')
      .filter(({ Properties }) => String(Properties.Name).includes('-lane-'));

  test('the schedule of a lane passes an input that the handler accepts', () => {
    const inputs = schedules().map(({ Properties }) =>
      pollLaneRequest.parse(JSON.parse(Properties.Target.Input)),
    );

    expect(inputs).toMatchObject([
      {
        lane: 0,
        lanes: 1,
        accounts: [
          {
            account_id: 'main',
            requests_per_minute: 350,
            command_requests_per_minute: 250,
            stalled_after_seconds: { create_branch: [300] },
          },
        ],
      },
    ]);
    expect(schedules()[0]?.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
  });

  test('each lane has a function and a schedule with the accounts of that lane, and a pinned account its own', () => {
    const [account] = example.accounts;
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'large'];
    const lanes = synthesize({
      lanes: 2,
      own_lanes: [{ memory_mb: 1_024 }],
      accounts: ids.map((account_id) => ({
        ...account,
        account_id,
        ...(account_id === 'large' && { lane: 2 }),
      })) as never,
    });
    const inputs = lanes
      .ofType('AWS::Scheduler::Schedule')
      .filter(({ Properties }) => Properties.Name.includes('-lane-'))
      .map(({ Properties }) => pollLaneRequest.parse(JSON.parse(Properties.Target.Input)));
    const polled = inputs.map(({ accounts }) => accounts.map(({ account_id }) => account_id));
    const memory = lanes
      .ofType('AWS::Lambda::Function')
      .filter(({ Properties }) => Properties.FunctionName.includes('-poller'))
      .map(({ Properties }) => Properties.MemorySize);

    expect(polled.flat().toSorted()).toEqual(ids);
    expect(polled[0]?.length).toBeGreaterThan(0);
    expect(polled[1]?.length).toBeGreaterThan(0);
    expect(polled[2]).toEqual(['large']);
    expect(memory).toEqual([144, 144, 1_024]);
  });

  test('does not retry a failed invocation and sends it to a queue', () => {
    expect(stack.ofType('AWS::Lambda::EventInvokeConfig')[0]?.Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
      DestinationConfig: { OnFailure: {} },
    });
  });

  test('polls two accounts with one schedule, because they share a lane', () => {
    const [first] = stack.config.accounts;
    const two = synthesize({ accounts: [first, { ...first, account_id: 'second' }] as never });
    const inputs = two
      .ofType('AWS::Scheduler::Schedule')
      .filter(({ Properties }) => String(Properties.Name).includes('-lane-'))
      .map(({ Properties }) => pollLaneRequest.parse(JSON.parse(Properties.Target.Input)));

    expect(inputs.map(({ accounts }) => accounts.map(({ account_id }) => account_id))).toEqual([
      ['main', 'second'],
    ]);
  });

  test('reserves concurrency only when the configuration asks for it, because a new AWS account has none to spare', () => {
    const reservedIn = (synthesized: Synthesized) =>
      synthesized
        .ofType('AWS::Lambda::Function')
        .map(({ Properties }) => Properties.ReservedConcurrentExecutions as number | undefined)
        .filter((reserved) => reserved !== undefined);

    expect(reservedIn(stack)).toEqual([]);
    const set = synthesize({ reserved_concurrency: { api: 50, poller: 2 } });
    expect(new Set(reservedIn(set))).toEqual(new Set([2, 50]));
  });
});

describe('events', () => {
  test('are archived, and the registry describes every field of their definitions', () => {
    expect(stack.ofType('AWS::Events::Archive')[0]?.Properties).toMatchObject({
      EventPattern: { source: [EVENT_SOURCE] },
      RetentionDays: 30,
    });
    const schemas = stack
      .ofType('AWS::EventSchemas::Schema')
      .map(
        ({ Properties }) =>
          JSON.parse(Properties.Content) as { title: string; properties: { detail: { properties: object } } },
      );
    expect(schemas.map(({ title }) => title).toSorted()).toEqual(
      eventCatalog.map(({ detailType }) => detailType).toSorted(),
    );
    for (const { detailType, detail } of eventCatalog) {
      const schema = schemas.find(({ title }) => title === detailType);
      expect(Object.keys(schema?.properties.detail.properties ?? {})).toEqual(Object.keys(detail.shape));
    }
  });

  test("are refused by the bus when another role sends them under the bridge's source", () => {
    const [policy] = stack.ofType('AWS::Events::EventBusPolicy');

    expect(policy?.Properties.Statement).toMatchObject({
      Effect: 'Deny',
      Action: 'events:PutEvents',
      Condition: { StringEquals: { 'events:source': [EVENT_SOURCE, APPROVAL_SOURCE] }, ArnNotEquals: {} },
    });
    const roles = stack
      .ofType('AWS::IAM::Role')
      .map(({ Properties }) => JSON.stringify(Properties.RoleName ?? ''));
    const trusted = JSON.stringify(policy?.Properties.Statement.Condition.ArnNotEquals);
    for (const name of ['poller', 'api']) {
      expect(roles.some((role) => role.includes(`operations-bridge-${name}-`))).toBe(true);
      expect(trusted).toContain(`:role/operations-bridge-${name}-`);
    }
  });

  test('include a canary that a schedule sends and a rule matches', () => {
    const schedule = stack
      .ofType('AWS::Scheduler::Schedule')
      .find(({ Properties }) => Properties.Name === 'operations-bridge-canary');

    expect(JSON.parse(schedule?.Properties.Target.Input).Entries[0]).toMatchObject({ Source: CANARY_SOURCE });
    expect(
      stack
        .ofType('AWS::Events::Rule')
        .find(({ Properties }) => Properties.Name === 'operations-bridge-canary')?.Properties.EventPattern,
    ).toEqual({ source: [CANARY_SOURCE] });
  });
});

describe('alerts', () => {
  test('arrive through the same rule and queue settings as on the local bridge', () => {
    const rule = stack
      .ofType('AWS::Events::Rule')
      .find(({ Properties }) => Properties.Name === 'operations-bridge-alerts');
    const queue = stack
      .ofType('AWS::SQS::Queue')
      .find(({ Properties }) => Properties.QueueName === 'operations-bridge-alerts');

    expect(rule?.Properties.EventPattern).toEqual(alertRulePattern);
    expect(queue?.Properties).toMatchObject({
      VisibilityTimeout: notifierQueue.visibilityTimeoutMs / 1_000,
      RedrivePolicy: { maxReceiveCount: notifierQueue.receiveCountMax },
    });
    const queueId = stack.resources.find(([, resource]) => resource === queue)?.[0];
    const mapping = stack
      .ofType('AWS::Lambda::EventSourceMapping')
      .find(({ Properties }) => Properties.EventSourceArn['Fn::GetAtt'][0] === queueId);
    expect(mapping?.Properties).toMatchObject({
      BatchSize: notifierQueue.batchSize,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  test('and alarms go to the configured addresses, each through a topic of its own', () => {
    const topicNameOf = (id: string) => stack.resource(id)?.Properties.TopicName as string;

    expect(
      stack
        .ofType('AWS::SNS::Subscription')
        .map(({ Properties }) => [
          topicNameOf(Properties.TopicArn.Ref),
          Properties.Protocol,
          Properties.Endpoint,
        ]),
    ).toEqual([
      ['operations-bridge-alerts', 'email', 'oncall@example.com'],
      ['operations-bridge-alarms', 'email', 'oncall@example.com'],
    ]);
  });
});

describe('the front door', () => {
  test('admits the root and three prefixes at a limited rate, and logs no path', () => {
    const routes = stack
      .ofType('AWS::ApiGatewayV2::Route')
      .map(({ Properties }) => Properties.RouteKey as string);
    const [stage] = stack.ofType('AWS::ApiGatewayV2::Stage');

    expect(routes.toSorted()).toEqual([
      'ANY /api/v2/{proxy+}',
      'ANY /bridge/v1/{proxy+}',
      'ANY /console/{proxy+}',
      'GET /',
      'GET /console',
    ]);
    expect(stage?.Properties.DefaultRouteSettings).toEqual({
      ThrottlingBurstLimit: 100,
      ThrottlingRateLimit: 50,
    });
    expect(stage?.Properties.AccessLogSettings.Format).not.toMatch(/path|query|authorization|header/i);
  });
});

describe('alarms', () => {
  const alarms = () => stack.ofType('AWS::CloudWatch::Alarm');

  test('fire when the walk, the canary or a channel reports nothing', () => {
    const breaching = alarms()
      .filter(({ Properties }) => Properties.TreatMissingData === 'breaching')
      .map(({ Properties }) => Properties.AlarmName);

    expect(breaching).toEqual([
      'operations-bridge-no-complete-walk',
      'operations-bridge-canary-missing',
      'operations-bridge-channel-deaf',
    ]);
  });

  test('each notify people and link to an article of the runbook', () => {
    for (const { Properties } of alarms()) {
      expect(Properties.AlarmActions).toHaveLength(1);
      expect(Properties.AlarmDescription).toMatch(/Runbook: https:\/\/\S+#[a-z-]+$/);
    }
  });

  test('each name their article as a file, and alerts link nowhere, when no address of the runbook is set', () => {
    const without = synthesize({ runbook_url: undefined });

    for (const { Properties } of without.ofType('AWS::CloudWatch::Alarm'))
      expect(Properties.AlarmDescription).toMatch(/Runbook: docs\/operations\.md#[a-z-]+$/);
    expect(without.filedOf('notifier')).not.toHaveProperty('RUNBOOK_URL');
    expect(without.text).not.toContain('example.com/operations-bridge');
  });
});

describe('privileges', () => {
  interface Statement {
    readonly Sid?: string;
    readonly Action: string | string[];
    readonly Resource: unknown;
  }
  const statementsOf = (name: FunctionName): Statement[] => {
    const roleId = (functionOf(name).Properties.Role['Fn::GetAtt'] as string[])[0];
    // What does not fit into the inline policy of a role, CDK puts into a managed policy of the stack.
    return [...stack.ofType('AWS::IAM::Policy'), ...stack.ofType('AWS::IAM::ManagedPolicy')]
      .filter(({ Properties }) => Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === roleId))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
  };
  const actionsOf = (name: FunctionName) =>
    statementsOf(name)
      .flatMap(({ Sid, Action }) => [Action].flat().map((action) => `${Sid} ${action}`))
      .toSorted();

  test('the poller can read and update items, publish and read its keys, and nothing else', () => {
    expect(actionsOf('poller')).toEqual([
      'Failures sqs:SendMessage',
      'Publish events:PutEvents',
      'QueryAccounts dynamodb:Query',
      'QueryAllAccounts dynamodb:Query',
      'QueryAllLanes dynamodb:Query',
      'QueryCreated dynamodb:Query',
      'QueryWishes dynamodb:Query',
      'ReadAccounts dynamodb:GetItem',
      'ReadInsights dynamodb:BatchGetItem',
      'ReadInsights dynamodb:GetItem',
      'ReadLanes dynamodb:GetItem',
      'ReadProtocol dynamodb:BatchGetItem',
      'ReadProtocol dynamodb:GetItem',
      'ReadReadRequests dynamodb:BatchGetItem',
      'ReadReadRequests dynamodb:GetItem',
      'ReadUsage dynamodb:BatchGetItem',
      'ReadUsage dynamodb:GetItem',
      'UpdateInsights dynamodb:UpdateItem',
      'UpdateProtocol dynamodb:UpdateItem',
      'UpdateReadRequests dynamodb:UpdateItem',
      'UpdateUsage dynamodb:UpdateItem',
      'UpstreamKeys secretsmanager:GetSecretValue',
      'WriteLog logs:CreateLogStream',
      'WriteLog logs:PutLogEvents',
    ]);
  });

  test('the API can publish only the events that commands cause, and test events', () => {
    expect(actionsOf('api')).toEqual([
      'DeadLetters sqs:GetQueueAttributes',
      'Publish events:PutEvents',
      'QueryAccounts dynamodb:Query',
      'QueryAllAccounts dynamodb:Query',
      'QueryCreated dynamodb:Query',
      'QueryLines dynamodb:Query',
      'QueryList dynamodb:Query',
      'ReadAccounts dynamodb:GetItem',
      'ReadAlerts dynamodb:BatchGetItem',
      'ReadAlerts dynamodb:GetItem',
      'ReadAudit dynamodb:BatchGetItem',
      'ReadAudit dynamodb:GetItem',
      'ReadCallers dynamodb:GetItem',
      'ReadIdempotency dynamodb:GetItem',
      'ReadIncidents dynamodb:BatchGetItem',
      'ReadIncidents dynamodb:GetItem',
      'ReadInsights dynamodb:BatchGetItem',
      'ReadInsights dynamodb:GetItem',
      'ReadMutes dynamodb:BatchGetItem',
      'ReadMutes dynamodb:GetItem',
      'ReadProtocol dynamodb:BatchGetItem',
      'ReadProtocol dynamodb:GetItem',
      'ReadQueue dynamodb:BatchGetItem',
      'ReadQueue dynamodb:GetItem',
      'ReadReadRequests dynamodb:GetItem',
      'ReadTokens dynamodb:GetItem',
      'ReadUsage dynamodb:GetItem',
      'Rules cloudwatch:GetMetricData',
      'Rules events:ListRules',
      'Secrets secretsmanager:GetSecretValue',
      'Targets events:ListTargetsByRule',
      'Trigger events:PutEvents',
      'UpdateAccounts dynamodb:UpdateItem',
      'UpdateAlerts dynamodb:UpdateItem',
      'UpdateAudit dynamodb:UpdateItem',
      'UpdateCallers dynamodb:UpdateItem',
      'UpdateIdempotency dynamodb:UpdateItem',
      'UpdateIncidents dynamodb:UpdateItem',
      'UpdateLanes dynamodb:UpdateItem',
      'UpdateMutes dynamodb:UpdateItem',
      'UpdateProtocol dynamodb:UpdateItem',
      'UpdateQueue dynamodb:UpdateItem',
      'UpdateReadRequests dynamodb:UpdateItem',
      'UpdateUsage dynamodb:UpdateItem',
      'Wake sqs:SendMessage',
      'WriteLog logs:CreateLogStream',
      'WriteLog logs:PutLogEvents',
    ]);
    expect(statementsOf('api').find(({ Sid }) => Sid === 'Publish')).toMatchObject({
      Condition: {
        StringEquals: { 'events:source': 'operations-bridge' },
        'ForAllValues:StringEquals': {
          'events:detail-type': [
            'Operation State Changed',
            'Command Settled',
            'Branch Ready',
            'Branch Failed',
            'Compute State Changed',
          ],
        },
      },
    });
    expect(statementsOf('api').find(({ Sid }) => Sid === 'Trigger')).toMatchObject({
      Condition: { StringEquals: { 'events:source': 'operations-bridge.test' } },
    });
  });

  test('the worker can send commands and record what they begin, and cannot read a token or the audit', () => {
    expect(actionsOf('commands')).toEqual([
      'Publish events:PutEvents',
      'QueryAllAccounts dynamodb:Query',
      'QueryLines dynamodb:Query',
      'QueryWork dynamodb:Query',
      'Queue sqs:ChangeMessageVisibility',
      'Queue sqs:DeleteMessage',
      'Queue sqs:GetQueueAttributes',
      'Queue sqs:ReceiveMessage',
      'Queue sqs:SendMessage',
      'ReadAccounts dynamodb:GetItem',
      'ReadProtocol dynamodb:BatchGetItem',
      'ReadProtocol dynamodb:GetItem',
      'ReadQueue dynamodb:GetItem',
      'ReadUsage dynamodb:GetItem',
      'Secrets secretsmanager:GetSecretValue',
      'Undelivered sqs:SendMessage',
      'UpdateLanes dynamodb:UpdateItem',
      'UpdateProtocol dynamodb:UpdateItem',
      'UpdateQueue dynamodb:UpdateItem',
      'UpdateReadRequests dynamodb:UpdateItem',
      'UpdateUsage dynamodb:UpdateItem',
      'WriteLog logs:CreateLogStream',
      'WriteLog logs:PutLogEvents',
    ]);
  });

  test('the notifier can read its queue, update its items, send e-mail and set a failed sweep aside, and nothing else', () => {
    expect(actionsOf('notifier')).toEqual([
      'Mail sns:Publish',
      'QueryList dynamodb:Query',
      'QueryWork dynamodb:Query',
      'Queue sqs:DeleteMessage',
      'Queue sqs:GetQueueAttributes',
      'Queue sqs:ReceiveMessage',
      'ReadAccounts dynamodb:GetItem',
      'ReadAlerts dynamodb:BatchGetItem',
      'ReadAlerts dynamodb:GetItem',
      'ReadIncidents dynamodb:BatchGetItem',
      'ReadIncidents dynamodb:GetItem',
      'ReadInsights dynamodb:BatchGetItem',
      'ReadInsights dynamodb:GetItem',
      'ReadMutes dynamodb:BatchGetItem',
      'ReadMutes dynamodb:GetItem',
      'ReadProtocol dynamodb:GetItem',
      'Undelivered sqs:SendMessage',
      'UpdateAlerts dynamodb:UpdateItem',
      'UpdateIncidents dynamodb:UpdateItem',
      'WriteLog logs:CreateLogStream',
      'WriteLog logs:PutLogEvents',
    ]);
  });

  type Conditions = Record<string, Record<string, string | string[]>>;
  const tableStatementsOf = (name: FunctionName) =>
    statementsOf(name).flatMap(({ Sid = '', Condition }: Statement & { Condition?: Conditions }) => {
      const partitions = Condition?.['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'];
      const attributes = Condition?.['ForAllValues:StringEquals']?.['dynamodb:Attributes'];
      const bound = { ...Condition?.['StringEqualsIfExists'] };
      return partitions === undefined ? [] : [{ Sid, partitions: [partitions].flat(), attributes, bound }];
    });

  test('each function can read and update only its own partitions of the table and of its indexes', () => {
    const of = (name: FunctionName) =>
      tableStatementsOf(name).map(({ Sid, partitions }) => [Sid, ...partitions]);

    expect(of('poller')).toEqual([
      ['ReadProtocol', 'A#*'],
      ['ReadUsage', 'USAGE#*'],
      ['ReadInsights', 'INSIGHTS#*'],
      ['ReadReadRequests', 'READ#*'],
      ['ReadAccounts', 'ACCOUNTS#*'],
      ['ReadLanes', 'LANES#*'],
      ['UpdateProtocol', 'A#*'],
      ['UpdateReadRequests', 'READ#*'],
      ['UpdateInsights', 'INSIGHTS#*'],
      ['UpdateUsage', 'USAGE#*'],
      ['QueryAllAccounts', 'ACCOUNTS#*'],
      ['QueryAllLanes', 'LANES#*'],
      ['QueryWishes', 'READ#*', 'PARKED#*'],
      ['QueryCreated', 'A#*'],
    ]);
    expect(of('notifier')).toEqual([
      ['ReadAlerts', 'ALERT#*'],
      ['ReadInsights', 'INSIGHTS#*'],
      ['ReadMutes', 'MUTES#*'],
      ['ReadProtocol', 'A#*'],
      ['ReadIncidents', 'INCIDENTS#*'],
      ['ReadAccounts', 'ACCOUNTS#*'],
      ['UpdateAlerts', 'ALERT#*'],
      ['UpdateIncidents', 'INCIDENTS#*'],
      ['QueryWork', 'ALERT#*', 'MUTES', 'ACKNOWLEDGED'],
      [
        'QueryList',
        'ALERT#*#critical',
        'ALERT#*#warning',
        'ALERT#*#info',
        'ALERT#*#reminders',
        'INCIDENTS#*#open',
      ],
    ]);
    // A policy that is too large is divided, and its statements are then in another order.
    const ofApi = [
      ['ReadProtocol', 'A#*'],
      ['ReadReadRequests', 'READ#*'],
      ['ReadAlerts', 'ALERT#*'],
      ['ReadTokens', 'TOKEN#*'],
      ['ReadIdempotency', 'IDEMPOTENCY#*'],
      ['ReadCallers', 'CALLER#*'],
      ['ReadAudit', 'AUDIT#*'],
      ['ReadInsights', 'INSIGHTS#*'],
      ['ReadMutes', 'MUTES#*'],
      ['ReadIncidents', 'INCIDENTS#*'],
      ['ReadQueue', 'QUEUE#*'],
      ['UpdateProtocol', 'A#*'],
      ['UpdateReadRequests', 'READ#*'],
      ['UpdateAlerts', 'ALERT#*'],
      ['UpdateIdempotency', 'IDEMPOTENCY#*'],
      ['UpdateAudit', 'AUDIT#*'],
      ['UpdateQueue', 'QUEUE#*'],
      ['UpdateMutes', 'MUTES#*'],
      ['UpdateIncidents', 'INCIDENTS#*'],
      ['UpdateUsage', 'USAGE#*'],
      ['UpdateCallers', 'CALLER#*'],
      ['ReadAccounts', 'ACCOUNTS#*'],
      ['ReadUsage', 'USAGE#*'],
      ['UpdateAccounts', 'ACCOUNTS#*'],
      ['UpdateLanes', 'LANES#*'],
      ['QueryAllAccounts', 'ACCOUNTS#*'],
      ['QueryLines', 'QUEUE#*', 'QUEUED#*'],
      ['QueryCreated', 'A#*'],
      [
        'QueryList',
        'PROJECTS#*',
        'AUDIT#*',
        'COMMANDS#*',
        'TOKENS#*',
        'MUTES#*',
        'INCIDENTS#*#open',
        'INCIDENTS#*#ended',
        'ALERT#*#critical',
        'ALERT#*#warning',
        'ALERT#*#info',
        'ALERT#*#told',
      ],
    ];
    const inOrder = (rows: readonly (readonly string[])[]) => rows.map((row) => row.join(' ')).toSorted();
    expect(inOrder(of('api'))).toEqual(inOrder(ofApi));
    expect(of('commands')).toEqual([
      ['ReadProtocol', 'A#*'],
      ['ReadQueue', 'QUEUE#*'],
      ['ReadAccounts', 'ACCOUNTS#*'],
      ['ReadUsage', 'USAGE#*'],
      ['UpdateProtocol', 'A#*'],
      ['UpdateReadRequests', 'READ#*'],
      ['UpdateQueue', 'QUEUE#*'],
      ['UpdateUsage', 'USAGE#*'],
      ['UpdateLanes', 'LANES#*'],
      ['QueryAllAccounts', 'ACCOUNTS#*'],
      ['QueryLines', 'QUEUE#*'],
    ]);
  });

  test.each([
    ['api', 'QueryAccounts'],
    ['commands', 'QueryWork'],
    ['poller', 'QueryAccounts'],
  ] as const)(
    '%s: %s allows the partitions of every account, also of those to come, and no other partition',
    (name, sid) => {
      const [statement] = statementsOf(name).filter(({ Sid }) => Sid === sid) as {
        Condition?: Conditions;
      }[];
      const others = [
        statement?.Condition?.['ForAllValues:StringNotLike']?.['dynamodb:LeadingKeys'] ?? [],
      ].flat();
      const isOther = (partition: string) =>
        others.some((pattern) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(partition));

      for (const id of ['main', 'tenant-1']) expect(isOther(workOf(id))).toBe(false);
      for (const partition of [MUTES_WORK, ACKNOWLEDGED_WORK, alertWorkOf('slack'), wishesOf('main')])
        expect(isOther(partition)).toBe(true);
    },
  );

  test('the API, the worker and the poller read all accounts together, and of each only the attributes that they read one by one', () => {
    for (const name of ['api', 'commands', 'poller'] as const) {
      const [all] = tableStatementsOf(name).filter(({ Sid }) => Sid === 'QueryAllAccounts');

      expect(all).toMatchObject({
        attributes: ACCESS[name].reads.accounts,
        bound: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
      });
    }
  });

  test('each function can read and update only the attributes of its access list, and never a whole item', () => {
    for (const name of Object.keys(functionDefinitions) as FunctionName[]) {
      const { reads, updates }: Access = ACCESS[name];
      const items = tableStatementsOf(name).filter(({ Sid }) => !Sid.startsWith('Query'));
      const granted = Object.fromEntries(items.map(({ Sid, attributes }) => [Sid, attributes]));
      const sidOf = (verb: string, partition: string) =>
        `${verb}${partition.charAt(0).toUpperCase()}${partition.slice(1)}`;

      expect(granted).toEqual({
        ...Object.fromEntries(Object.entries(reads).map(([key, names]) => [sidOf('Read', key), names])),
        ...Object.fromEntries(Object.entries(updates).map(([key, names]) => [sidOf('Update', key), names])),
      });
      for (const { Sid, bound } of items)
        expect(bound).toEqual(
          Sid.startsWith('Read')
            ? { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' }
            : { 'dynamodb:ReturnValues': ['NONE', 'UPDATED_NEW'] },
        );
    }
  });

  test('only the poller can write how far an account has been read and which poller holds the lease', () => {
    const { api } = ACCESS;
    const written: readonly string[] = api.updates.protocol;

    for (const name of [
      'watermark',
      'resume',
      'swept_at_ms',
      'arrivals',
      'boot_at',
      'is_listed',
      'holder',
      'learned',
    ])
      expect(written).not.toContain(name);
    const table = createMemoryTable();
    const project = { key: projectKey('a', 'p'), set: { watermark: 'soon' } };
    expect(() => table.as('api').sync.update(project)).toThrow('The api is not allowed to write watermark');
    expect(() => table.as('notifier').sync.get(tokenKey('t'))).toThrow(
      'The notifier is not allowed to read TOKEN#t',
    );
    expect(table.as('poller').sync.update(project)).toBe('applied');
    expect(() => table.as('poller').sync.update({ key: tokenKey('t'), set: {} })).toThrow(
      'is not allowed to write pk, sk',
    );
  });

  test('the policy of a role stays within the quota of IAM with the maximum number of accounts', () => {
    const INLINE_POLICY_CHARACTERS_MAX = 10_240;
    const [first] = stack.config.accounts;
    const secretOf = (name: string) =>
      `arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/${name}-AbCdEf`;
    const accounts = Array.from({ length: ACCOUNTS_MAX }, (_, place) => ({
      ...first,
      account_id: `a-long-name-of-account-${place}`,
      key_secret_arn: secretOf(`upstream-key-${place}`),
      command_key_secret_arn: secretOf(`command-key-${place}`),
    }));
    const many = synthesize({ accounts: accounts as never });
    for (const { Properties } of many.ofType('AWS::IAM::Policy'))
      expect(JSON.stringify(Properties.PolicyDocument).length).toBeLessThan(INLINE_POLICY_CHARACTERS_MAX);
  });

  test('every key of an item belongs to one of the listed partitions', () => {
    const keys = [
      accountKey('a'),
      projectKey('a', 'p'),
      wishKey('a', 'p'),
      tokenKey('t'),
      idempotencyKey('h'),
      auditKey('a', 'r'),
      alertIncidentKey('slack', 'i'),
      alertNoticeKey('slack', 'n'),
      alertChannelKey('slack'),
      muteKey('a', 'm'),
      incidentKey('a', 'i'),
      accountItemKey('a'),
    ];
    const known = Object.values(PARTITIONS).map((partition) => partition.slice(0, -1));

    expect(keys.filter(({ pk }) => !known.some((prefix) => pk.startsWith(prefix)))).toEqual([]);
  });

  test('no statement allows deletion of items or tables, or has a wildcard in its resources but for upstream keys', () => {
    const statements = stack.resources
      .filter(([, { Type }]) => /^AWS::IAM::(Managed)?Policy$/.test(Type))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[]);

    for (const { Action, Resource } of statements) {
      expect(
        [Action].flat().filter((action) => action.includes('*') || /Delete(Item|Table)/.test(action)),
      ).toEqual([]);
      // No wildcard may stand alone or in a part of a resource. X-Ray, which has no resources, comes with AWS's own
      // managed policy.
      // The exceptions are the secrets with upstream keys and the rules of the bus, which are added while the bridge runs, and two
      // calls that know no resources.
      const texts = [Resource].flat().map((resource) => JSON.stringify(resource));
      if (['events:ListRules', 'cloudwatch:GetMetricData'].includes([Action].flat()[0] ?? '')) continue;
      const named = texts.filter(
        (text) => !/:(secret:operations-bridge\/upstream-keys|rule\/operations-bridge)\/\*"/.test(text),
      );
      expect(named.filter((text) => text.includes('*'))).toEqual([]);
    }
    expect(INDEXES.length).toBeGreaterThan(1);
  });

  test("X-Ray's is the only managed policy of AWS, and each acknowledged rule names its resources and gives a reason", () => {
    const managed = stack
      .ofType('AWS::IAM::Role')
      .flatMap(({ Properties }) => Properties.ManagedPolicyArns ?? []);

    expect(new Set(managed.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(JSON.stringify(managed[0])).toContain(':iam::aws:policy/AWSXRayDaemonWriteAccess');
    for (const { at, reason } of ACKNOWLEDGED) {
      expect(at.every((path) => path.includes('/'))).toBe(true);
      expect(reason.split(' ').length).toBeGreaterThan(5);
    }
  });

  test('the template contains ARNs of secrets and no secret', () => {
    // AWS makes the text of the only secret that is deployed.
    expect(
      stack.ofType('AWS::SecretsManager::Secret').map(({ Properties }) => Object.keys(Properties)),
    ).toEqual([['Description', 'GenerateSecretString', 'Name', 'Tags']]);
    expect(stack.text).not.toMatch(/"SecretString"|"(password|api_key|token)":\s*"[^"]{8,}/i);
  });
});

test('the API knows the labels of the alert policy', () => {
  const labels = { production: { project_names: ['*-live'] }, other: { project_ids: ['a'] } };
  const labelsIn = (alerts: object) =>
    synthesize({ alerts: { emails: [], ...alerts } }).filedOf('api')?.['PROJECT_LABELS'];

  expect(JSON.parse(String(labelsIn({ policy: { labels } })))).toEqual(labels);
  expect(labelsIn({})).toBe('{}');
});
