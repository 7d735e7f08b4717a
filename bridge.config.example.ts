/**
 * An annotated configuration of one bridge. Copy it to bridge.config.ts, fill it in, and run `npx cdk deploy`.
 * Everything with a default can be left out. You create the secrets beforehand (`aws secretsmanager create-secret
 * --name ...`) and only name them here.
 */

import { defineBridge } from './infra/bridge-config.ts';

export default defineBridge({
  // The name of every resource begins with this.
  name: 'operations-bridge',

  // One entry per account of the upstream, because rate limits are per account and each account has a poller.
  accounts: [
    {
      account_id: 'main',
      upstream_base_url: 'https://upstream.example.com/api/v2',
      key_secret_arn:
        'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/upstream-key-AbCdEf',
      // The upstream allows 700 requests a minute per account, and more to large customers (limit_requests_per_minute). They are divided between the poller and the commands;
      // each also uses what the other leaves.
      poller_requests_per_minute: 350,
      command_requests_per_minute: 250,
      // All callers together send at most this many requests in a second.
      // command_requests_per_second: 34,
      // One caller sends at most this many requests in a minute. Without this setting several callers get equal parts.
      // caller_requests_per_minute: 125,
      // The shortest time between two polls of one project. By default it follows the number of projects: five seconds
      // up to ten of them, and a quarter of a second from fifty on.
      // poll_interval_seconds: 5,
      // How long an invocation goes on when nothing is expected to happen: 60 is fastest, 0 is cheapest
      // (docs/performance.md).
      linger_seconds: 60,
      // An operation is reported as stalled when it is open for three times as long as 99 of 100 of its action take, and
      // for five minutes at least. This fixes the thresholds of an action instead; `default` would fix those of all others.
      stalled_after_seconds: { create_branch: [300] },
      // What is published at the first sight of the account: 'open' means what is open now, 'all' its history, too,
      // and 'none' only what changes.
      backfill: 'open',
      // An event and an alert come once a billing period when a project has used 75, 90 and 100 percent of its quota, or
      // of a limit of your own, in seconds. `keeps_history` adds a chart and GET /bridge/v1/usage (docs/cost.md).
      // usage: {
      //   thresholds_percent: [75, 90, 100],
      //   account_limits: { compute_time_seconds: 1_800_000 },
      //   project_limits: { 'solitary-cell-58208823': { compute_time_seconds: 360_000 } },
      //   keeps_history: true,
      // },
      // What the upstream takes for an hour of one compute unit, for estimates.
      // compute_unit_hour_price: 0.16,
    },
  ],

  // Accounts that are added while the bridge runs (docs/deploy/add-an-account.md) may send their keys to these hosts alone.
  // By default these are the hosts of the accounts above.
  // upstream_hosts: ['upstream.example.com'],

  alerts: {
    emails: ['oncall@example.com'],
    // slack_webhook_secret_arn: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/slack-AbCdEf',
    // pagerduty_secret_arn: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/pagerduty-AbCdEf',
    // webhook_secret_arn: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/webhook-AbCdEf',
    // A route goes to every channel that is set up, or to those that it names: channels: ['slack'].
    policy: { routes: [{ severity_min: 'info' }], window_seconds: 300 },
  },

  api: {
    // A random text of 32 characters or more that keys the hashes of tokens: `openssl rand -hex 32` makes one.
    token_pepper_secret_arn:
      'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/token-pepper-AbCdEf',
    // oidc: { issuer: 'https://login.example.com', audience: 'operations-bridge', account_id: 'main' },
    // People sign in to the console at this OpenID provider (docs/deploy/sign-in.md). The first role that a person has counts.
    // sign_in: {
    //   issuer: 'https://login.example.com',
    //   client_id: 'operations-bridge',
    //   client_secret_arn: 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:operations-bridge/sign-in-AbCdEf',
    //   account_id: 'main',
    //   roles_claim: 'groups',
    //   roles: [{ value: 'platform-on-call', scopes: ['admin', 'audit:read'] }],
    // },
    // The console shows what lies in the dead-letter queues of these subscribers.
    // dead_letter_queue_arns: ['arn:aws:sqs:eu-central-1:123456789012:*-dead-letters'],
    // Calls that create or revoke API keys are closed, because such a key has all rights of the account. Opened by name:
    // open_calls: ['createOrganizationApiKey'],
    // Calls that are newer than the table of the bridge. A route here also replaces the call of the table at the same path.
    extra_routes: [
      {
        id: 'startEndpoint',
        method: 'POST',
        path: '/projects/{project_id}/endpoints/{endpoint_id}/start',
        summary: 'Start a compute',
        scope: 'computes:restart',
        // Callers that are limited to projects can send it, too.
        stays_within_project: true,
      },
    ],
  },

  // The bridge may end tasks of these state machines of Step Functions that wait for commands (docs/api.md).
  // callbacks: { state_machine_arns: ['arn:aws:states:eu-central-1:123456789012:stateMachine:preview'] },

  // Reserves instances for a function, which is also its upper limit. Leave it out on a new AWS account: its limit of
  // ten instances in all fails every deployment with a reservation. With the usual limit of a thousand, 50 for the API
  // bounds the cost of long polls.
  // reserved_concurrency: { api: 50, poller: 1 },

  // A key of your own in KMS encrypts the table, the queues, the topics and the logs; a dollar a month and its uses.
  // customer_managed_key: true,

  // A log of the bus, by which a test event is followed to each target; about a dollar for each million of deliveries.
  // bus_log: true,

  // Alarms and alerts link to this copy of docs/operations.md; without it they have no such link.
  runbook_url: 'https://git.example.com/operations-bridge/docs/operations.md',
  tags: { team: 'platform' },
});
