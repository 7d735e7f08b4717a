/** Builds the API as it is deployed, on a table and a bus in memory and a server on the loopback interface. */

import { randomBytes } from 'node:crypto';
import { serve } from '@hono/node-server';
import { onTestFinished } from 'vitest';
import { createApi } from '../../functions/api/create-handler.ts';
import type { BusReader } from '../../functions/api/read-model/bus-reader.ts';
import { createWorkerAccounts } from '../../functions/commands/create-handler.ts';
import type { HandBack } from '../../functions/commands/invocation.ts';
import type { WaitingTasks } from '../../functions/commands/waiting-tasks.ts';
import { work } from '../../functions/commands/work.ts';
import { commandSettingsOf } from '../../shared/accounts/account.ts';
import { openAccountDirectory } from '../../shared/accounts/account-directory.ts';
import { SCOPES, type Scope } from '../../shared/callers/scopes.ts';
import { createTokenStore, mintToken, tokenHash } from '../../shared/callers/tokens.ts';
import type { Wake, Wakes } from '../../shared/commands/wakes.ts';
import type { AccountRules } from '../../shared/config/account-rules.ts';
import {
  type ApiAccount,
  type ApiSettings,
  apiAccounts,
  type ExtraRoute,
  extraRoutes,
  type OidcSettings,
  type SignInSettings,
} from '../../shared/config/api-config.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import type { BusEvent } from '../../shared/events/render-event.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import type { LogFields, Telemetry } from '../../shared/runtime/telemetry.ts';
import { accountItemKey } from '../../shared/store/keys.ts';
import type { Table, TableIndexes, TablePartitions } from '../../shared/store/table.ts';
import type { KeySource } from '../../shared/upstream/send-with-key.ts';
import type { Workers } from '../doors/second-edition.ts';
import { createMemoryTable, type MemoryTable } from '../simulation/memory-table.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';

const TODAY: Workers = { work, createWorkerAccounts, openAccountDirectory, commandSettingsOf };

/** The second edition asked this for its permits, and each is given. */
const GIVING_COUNTERS = {
  incrementMembers: async ({ members, time }: OlderIncrement) => ({
    total: 0,
    timeMs: time.move?.toMs ?? 0,
    window: members.window,
    members: members.by,
  }),
};

interface OlderIncrement {
  readonly members: { readonly by: Readonly<Record<string, number>>; readonly window: number };
  readonly time: { readonly move?: { readonly toMs?: number } };
}

export const PEPPER = 'a-pepper-of-tests-that-is-long-enough';
export const QUEUE_KEY = 'a-key-of-the-queue-of-tests-that-is-long';
export const ACCOUNT_ID = 'main';

const A_BUS_WITHOUT_RULES: BusReader = {
  read: async () => ({ readAtMs: 0, rules: [], furtherRuleCount: 0, queues: new Map(), faults: [] }),
  follow: async () => ({ kind: 'off' }),
  probes: [],
};

export interface ApiOptions {
  readonly upstreamBaseUrl: string;
  readonly upstreamKey: string;
  readonly accountSettings?: object;
  readonly rules?: AccountRules;
  /** By default every account has `upstreamKey`. */
  readonly keyOf?: (account: ApiAccount) => KeySource;
  readonly extraRoutes?: readonly object[];
  readonly openCalls?: ApiSettings['openCalls'];
  readonly labels?: ApiSettings['labels'];
  readonly oidc?: OidcSettings;
  readonly signIn?: SignInSettings;
  readonly signInSecret?: string;
  /** The secret of the Slack channel, whose buttons the API serves. */
  readonly slackSecret?: string;
  readonly pagerDutySecret?: string;
  readonly pepper?: string;
  readonly queueKey?: string;
  readonly clock?: Clock;
  /** Another function works on this table, too. Without it the API has one of its own. */
  readonly memory?: MemoryTable;
  /** Wraps the table of the API, and that of the worker. */
  readonly wrapTable?: (table: MemoryTable) => Table;
  readonly wrapIndexes?: (indexes: TableIndexes) => TableIndexes;
  readonly wrapPartitions?: (partitions: TablePartitions) => TablePartitions;
  readonly wrapBus?: (bus: EventBus) => EventBus;
  readonly fetch?: typeof fetch;
  /** Takes the wakes and the messages that are handed back. By default they are kept for the test. */
  readonly wakes?: Wakes;
  readonly handBack?: HandBack;
  /** Instances that share a table need ids that no other one has. By default requests are counted. */
  readonly newId?: () => string;
  /** The bridge may end these tasks of workflows. By default it ends none. */
  readonly tasks?: WaitingTasks;
  /** The default is the API and the worker of the test. */
  readonly instancesMax?: number;
  /** By default the bus has no rules. */
  readonly busReader?: BusReader;
  readonly busName?: string;
  readonly onMeasure?: (metric: string, value: number, name?: string) => void;
}

export interface TokenOptions {
  /** The account of the token. It is the configured one by default. */
  readonly account_id?: string;
  readonly client_id?: string;
  readonly scopes?: readonly Scope[];
  readonly project_ids?: readonly string[];
  readonly validForMs?: number;
  readonly settles?: boolean;
  readonly approve?: readonly string[];
}

/**
 * Most tests open these calls, so that they show who may send them. `public-calls.test.ts` shows that a configuration
 * must open them.
 */
const ALL_KEY_CALLS: ApiSettings['openCalls'] = [
  'createApiKey',
  'revokeApiKey',
  'createOrganizationApiKey',
  'revokeOrganizationApiKey',
];

interface LogLine extends LogFields {
  readonly level: string;
  readonly event: string;
}

export function createApiUnderTest(options: ApiOptions) {
  const clock = options.clock ?? systemClock;
  const pepper = options.pepper ?? PEPPER;
  const memory = options.memory ?? createMemoryTable();
  const ours = memory.as('api');
  const table = options.wrapTable?.(ours) ?? ours;
  const published: BusEvent[] = [];
  const bus: EventBus = {
    publish: async (events) => {
      published.push(...events);
      return events.map(() => ({ kind: 'accepted' as const }));
    },
  };
  const logged: LogLine[] = [];
  const telemetry: Telemetry = {
    log: (level, event, fields = {}) => logged.push({ ...fields, level, event }),
    measure: (metric, value, name) => options.onMeasure?.(metric, value, name),
  };
  // A second API on the same table has ids of its own.
  let idCount = options.memory === undefined ? 0 : 1_000;
  const key = createSecret(options.upstreamKey);
  const further: readonly ExtraRoute[] = extraRoutes.parse(options.extraRoutes ?? []);
  const account = {
    account_id: ACCOUNT_ID,
    upstream_base_url: options.upstreamBaseUrl,
    key_secret_id: 'a-key',
  };
  const accounts = apiAccounts.parse([
    { ...account, requests_per_minute: 690, poller_requests_per_minute: 10, ...options.accountSettings },
  ]);
  const signInSecret = options.signInSecret === undefined ? undefined : createSecret(options.signInSecret);
  const slackSecret = options.slackSecret === undefined ? undefined : createSecret(options.slackSecret);
  const pagerDutySecret =
    options.pagerDutySecret === undefined ? undefined : createSecret(options.pagerDutySecret);
  const woken: Wake[] = [];
  const handedBack: { readonly receiptHandle: string; readonly pauseMs: number }[] = [];
  const newId = options.newId ?? (() => `request-${++idCount}`);
  const ports = {
    bus: options.wrapBus?.(bus) ?? bus,
    keyOf: options.keyOf ?? (() => ({ current: async () => key, refresh: async () => key })),
    queueKey: async () => createSecret(options.queueKey ?? QUEUE_KEY),
    wakes: options.wakes ?? { send: async (wakes: readonly Wake[]) => void woken.push(...wakes) },
    telemetry,
    clock,
    random: systemRandom,
    instancesMax: options.instancesMax ?? 2,
    newId,
    ...(options.fetch && { fetch: options.fetch }),
  };
  const rules = options.rules ?? { upstreamHosts: [], keySecretPrefix: 'operations-bridge/upstream-keys/' };
  const api = createApi(
    {
      accounts,
      rules,
      extraRoutes: further,
      openCalls: options.openCalls ?? ALL_KEY_CALLS,
      takesCallbacks: options.tasks !== undefined,
      hasBusLog: false,
      alertChannels: ['slack', 'email'],
      deadLetterQueues: [],
      oidc: options.oidc,
      signIn: options.signIn,
      labels: options.labels ?? {},
    },
    {
      ...ports,
      pepper: async () => createSecret(pepper),
      signInSecret: signInSecret && (async () => signInSecret),
      slackSecret: slackSecret && (async () => slackSecret),
      pagerDutySecret: pagerDutySecret && (async () => pagerDutySecret),
      table,
      indexes: options.wrapIndexes?.(createMemoryIndexes(memory)) ?? createMemoryIndexes(memory),
      partitions:
        options.wrapPartitions?.(createMemoryPartitions(memory, 500)) ?? createMemoryPartitions(memory, 500),
      busName: options.busName ?? 'operations-bridge',
      busReader: async () => options.busReader ?? A_BUS_WITHOUT_RULES,
    },
  );
  /** Starts an instance of the worker that sends queued commands, over the same table, and returns its handler. */
  const startWorker = (version: Workers = TODAY) => {
    const theirs = memory.as('commands');
    const workerPorts = {
      ...ports,
      table: options.wrapTable?.(theirs) ?? theirs,
    };
    const handBack: HandBack =
      options.handBack ??
      (async (receiptHandle, pauseMs) => void handedBack.push({ receiptHandle, pauseMs }));
    const directory = version.openAccountDirectory(
      // The second edition's deployment names a limit for each caller.
      version === TODAY ? accounts : accounts.map((each) => ({ ...each, caller_requests_per_minute: 125 })),
      { rules, settingsOf: version.commandSettingsOf },
      { ...workerPorts, partitions: createMemoryPartitions(memory) },
    );
    const workerAccounts = version.createWorkerAccounts(directory, {
      ...workerPorts,
      tasks: options.tasks,
      // The second edition knows the key by this name, and counts in another way.
      ...(version !== TODAY && { pepper: ports.queueKey, counters: GIVING_COUNTERS }),
    });
    return (event: unknown) => version.work({ ...ports, handBack, accounts: workerAccounts }, event);
  };
  /** One invocation of a new instance of the worker. */
  const invokeWorker = (event: unknown, version?: Workers) => startWorker(version)(event);

  const issueToken = async (token: TokenOptions = {}): Promise<string> => {
    const account_id = token.account_id ?? ACCOUNT_ID;
    // People issue tokens for the present life of an account.
    const generation = Number((await memory.get(accountItemKey(account_id)))?.['generation'] ?? 1);
    const minted = mintToken(randomBytes);
    const text = minted.token.reveal();
    await createTokenStore(memory, clock).create({
      token_id: minted.id,
      account_id,
      ...(generation > 1 && { generation }),
      client_id: token.client_id ?? 'an-app',
      hash: tokenHash(text, createSecret(pepper)),
      scopes: [...(token.scopes ?? SCOPES)],
      ...(token.project_ids && { project_ids: [...token.project_ids] }),
      ...(token.settles === true && { settles: true }),
      ...(token.approve && { approve: [...token.approve] }),
      created_at: new Date(clock.now()).toISOString(),
      expires_at_ms: clock.now() + (token.validForMs ?? 3_600_000),
    });
    return text;
  };

  return { ...api, memory, published, logged, woken, handedBack, startWorker, invokeWorker, issueToken };
}

export type ApiUnderTest = ReturnType<typeof createApiUnderTest>;

/** Resolves to the API's base URL, as a client of the upstream would be given it. The server ends with the test. */
export async function listen({ app }: Pick<ApiUnderTest, 'app'>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(port));
  onTestFinished(async () => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return `http://127.0.0.1:${await promise}`;
}
