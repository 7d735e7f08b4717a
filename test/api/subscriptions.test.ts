/** Asks the API and the console who subscribes and gets what, in front of a local AWS in which a queue refuses a rule. */

import {
  EventBridgeClient,
  ListTargetsByRuleCommand,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { DeleteQueueCommand } from '@aws-sdk/client-sqs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type BusReader, createBusReader } from '../../functions/api/read-model/bus-reader.ts';
import { createBridgeClient } from '../../infra/cli/bridge-client.ts';
import { examineBridge } from '../../infra/cli/examining/examine-bridge.ts';
import { processSurroundings } from '../../infra/process/surroundings.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { anEntry } from '../local/aws/aws-under-test.ts';
import { openSubscriptions, QUEUE_ARN } from '../local/aws/subscriptions-under-test.ts';
import { createApiUnderTest, listen, type TokenOptions } from './api-under-test.ts';
import { hastyClock } from './passing-clock.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

const answerOfUpstream = ({ url }: Sent) =>
  url.endsWith('/auth')
    ? Response.json({ account_id: 'org-1', auth_method: 'api_key_org' })
    : Response.json(url.includes('/operations') ? { operations: [] } : { projects: [] });

async function setUp(dead: readonly string[] | BusReader = [`${QUEUE_ARN}*`], hasLog = true) {
  let nowMs = START_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const subscriptions = await openSubscriptions({ figuresClock: clock });
  const { aws } = subscriptions;
  for (const [name, value] of Object.entries(aws.environment)) vi.stubEnv(name, value);
  const queueUrl = `${aws.endpoint}/000000000000/commands.fifo`;
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    fetch: createUpstreamDouble(answerOfUpstream).fetch,
    rules: { upstreamHosts: ['upstream.example'], keySecretPrefix: 'operations-bridge/upstream-keys/' },
    busName: 'bus',
    busReader:
      'read' in dead
        ? dead
        : createBusReader({ busName: 'bus', deadLetterQueues: dead, queueUrl, hasLog, clock }),
    clock,
  });
  const ask = async (options: TokenOptions = {}) => {
    const headers = { authorization: `Bearer ${await api.issueToken({ ...options, validForMs: 1e9 })}` };
    const answer = await api.app.request('/bridge/v1/subscriptions', { headers });
    return { status: answer.status, body: await answer.json() };
  };
  const open = async (path: string) => {
    const token = await api.issueToken({ validForMs: 1e9 });
    const signedIn = await api.app.request('/console/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, next: '/console' }).toString(),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    return (await api.app.request(path, { headers: { cookie } })).text();
  };
  /** A rule with a queue that refuses it, and one for what is not delivered. */
  const breakQueue = async () => {
    await subscriptions.createQueue('billing', { Policy: '{"Statement":[]}' });
    await subscriptions.createQueue('billing-dead-letters');
    await subscriptions.createRule({
      Id: 'sqs',
      Arn: `${QUEUE_ARN}billing`,
      DeadLetterConfig: { Arn: `${QUEUE_ARN}billing-dead-letters` },
    });
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { ...subscriptions, api, ask, open, breakQueue, pass };
}

const ruleIn = ({ body }: { body: unknown }) => (body as { rules: Record<string, unknown>[] }).rules[0];

test("a subscriber's broken queue is seen on the page and by the API within five minutes", async () => {
  const { ask, open, breakQueue, publish, pass } = await setUp();
  await breakQueue();
  expect(ruleIn(await ask())).toMatchObject({ name: 'rule', verdict: 'quiet' });

  await publish();
  pass(5 * MINUTE_MS);

  expect(ruleIn(await ask())).toMatchObject({
    verdict: 'failing',
    reasons: [
      'The dead-letter queue billing-dead-letters has 1 message.',
      'In 24 hours EventBridge gave up 1 delivery; 1 went to the dead-letter queue.',
    ],
    figures: { invoked_count: 1, failed_count: 1, dead_letter_count: 1, lost_count: 0 },
    targets: [{ dead_letter_queue: { arn: `${QUEUE_ARN}billing-dead-letters`, message_count: 1 } }],
  });
  const page = await open('/console/subscriptions');
  expect(page).toContain('1 of 1 rule is in trouble.');
  expect(page).toContain('The dead-letter queue billing-dead-letters has 1 message.');
});

test('the doctor says what the page says', async () => {
  const { api, breakQueue, publish, pass } = await setUp();
  await breakQueue();
  await publish();
  pass(MINUTE_MS);
  const token = createSecret(await api.issueToken({ validForMs: 1e9 }));
  const connection = { url: await listen(api), token, isLocalRun: false };
  const surroundings = processSurroundings(new AbortController().signal, () => {});
  const client = createBridgeClient(() => connection, surroundings);
  const findings = await examineBridge(client, {
    ...surroundings,
    clock: hastyClock(MINUTE_MS),
    note: () => {},
  });

  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'subscription rule',
      verdict: 'problem',
      found:
        'The dead-letter queue billing-dead-letters has 1 message. In 24 hours EventBridge gave up 1 delivery; 1 went to the dead-letter queue.',
    }),
  );
});

test('an answer is kept for a minute, however many people look', async () => {
  const { aws, ask, breakQueue, pass } = await setUp();
  await breakQueue();
  const asked = () => aws.counts.get('monitoring:GetMetricData');

  for (let look = 0; look < 5; look++) await ask();
  expect(asked()).toBe(1);
  pass(MINUTE_MS);
  await ask();

  expect(asked()).toBe(2);
});

test('a bridge that fails is not taken for a token that may not see the rules', async () => {
  const { open } = await setUp({
    read: () => Promise.reject(new Error('The bus reader fails')),
    follow: async () => ({ kind: 'off' }),
    probes: [],
  });

  const page = await open('/console/subscriptions');

  expect(page).toContain('The page could not be made');
  expect(page).toContain('href="/console/subscriptions">Try again');
  expect(page).not.toContain('your token is limited');
});

test('after a test event the page names the rules that take it, and promises no delivery', async () => {
  const { open, breakQueue } = await setUp();
  await breakQueue();
  const after = (subject: string) =>
    open(`/console/subscribe?subject=${subject}&tests=on&sent=${'a'.repeat(32)}`);

  expect(await after('failures')).toContain(
    'These rules take it: <a href="/console/subscriptions#rule-rule">rule</a>',
  );
  expect(await after('readyBranches')).toContain('No rule that was on the bus a minute ago takes it');
});

/** Returns what the route says of a failure that was published just now. */
const follow = async (
  { api, events, aws }: Awaited<ReturnType<typeof setUp>>,
  options: TokenOptions = {},
) => {
  const { Entries } = await events.send(new PutEventsCommand({ Entries: [anEntry({})] }));
  await aws.bus.idle();
  const token = await api.issueToken({
    scopes: ['operations:read'],
    ...options,
    validForMs: 1e9,
  });
  const path = `/events/test/${Entries?.[0]?.EventId}`;
  const answer = await api.app.request(`/bridge/v1${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, body: await answer.json() };
};

test('an event is followed through the log of the bus to each target, with the error of one that refuses it', async () => {
  const opened = await setUp();
  // A reading of the rules is kept for a minute, and lacks what is deployed after it.
  await opened.ask();
  await opened.breakQueue();
  await opened.createQueue('mailer');
  await opened.events.send(
    new PutTargetsCommand({
      Rule: 'rule',
      EventBusName: 'bus',
      Targets: [{ Id: 'm', Arn: `${QUEUE_ARN}mailer` }],
    }),
  );

  expect(await follow(opened)).toEqual({
    status: 200,
    body: {
      log: 'on',
      received: true,
      deliveries: [
        {
          rule: 'rule',
          target_arn: `${QUEUE_ARN}billing`,
          step: 'dead_letter',
          error: expect.stringContaining('does not allow sqs:SendMessage'),
        },
        { rule: 'rule', target_arn: `${QUEUE_ARN}mailer`, step: 'delivered' },
      ],
    },
  });
  const { Entries } = await opened.events.send(new PutEventsCommand({ Entries: [anEntry({})] }));
  await opened.aws.bus.idle();
  const sent = `sent=${'a'.repeat(32)}&event=${Entries?.[0]?.EventId}`;
  const page = await opened.open(`/console/subscribe?subject=failures&tests=on&${sent}`);
  expect(page).toMatch(/mailer<\/span><\/td>\s*<td><span class="badge good">.* delivered</);
  expect(page).toMatch(
    /billing<\/span><\/td>\s*<td><span class="badge bad">.* given up, in the dead-letter queue</,
  );
  expect((await follow(opened, { project_ids: ['p'] })).status).toBe(403);
});

test('in a bridge of several accounts, only an administrator follows an event to the rules of all of them', async () => {
  const opened = await setUp();
  await opened.breakQueue();
  const added = await opened.api.app.request('/bridge/v1/accounts', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await opened.api.issueToken({ validForMs: 1e9 })}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ account_id: 'tenant' }),
  });
  expect(added.status).toBe(201);

  expect(await follow(opened)).toMatchObject({ body: { received: true, deliveries: [] } });
  expect(await follow(opened, { scopes: ['operations:read', 'accounts:read'] })).toMatchObject({
    body: { received: true, deliveries: [{ rule: 'rule', step: 'dead_letter' }] },
  });
});

test('without a log, or without the right to read it, nothing is said of one event', async () => {
  const off = await setUp(undefined, false);
  expect(await follow(off)).toEqual({ status: 200, body: { log: 'off' } });
  expect(off.aws.counts.get('logs:FilterLogEvents')).toBeUndefined();

  expect(await follow(await setUp())).toMatchObject({ body: { log: 'on', received: true, deliveries: [] } });
});

test('a queue that the configuration does not name, or that is gone, is not called empty', async () => {
  const hidden = await setUp([]);
  await hidden.breakQueue();
  expect(ruleIn(await hidden.ask())).toMatchObject({
    targets: [{ dead_letter_queue: { unseen: 'not visible from here' } }],
  });

  const { sqs, ask, breakQueue, pass } = await setUp();
  await breakQueue();
  await ask();
  const QueueUrl = `${process.env['AWS_ENDPOINT_URL']}/000000000000/billing-dead-letters`;
  await sqs.send(new DeleteQueueCommand({ QueueUrl }));
  pass(MINUTE_MS);

  expect(ruleIn(await ask())).toMatchObject({
    targets: [{ dead_letter_queue: { unseen: 'SQS answered QueueDoesNotExist' } }],
  });
});

test('what AWS refuses to say is named, and not taken for health', async () => {
  const { aws, ask, breakQueue, open } = await setUp();
  await breakQueue();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'a-role-without-rights');

  const { status, body } = await ask();

  expect([status, body]).toMatchObject([
    200,
    { rules: [], faults: [expect.stringMatching(/^The rules of the bus cannot be read \(\w+\)\.$/)] },
  ]);
  expect(await open('/console/subscriptions')).toContain('The rules of the bus cannot be read');
  expect(aws.counts.get('monitoring:GetMetricData')).toBeUndefined();
});

/** EventBridge refuses to name the targets of these rules, until the test has ended. */
function refuseTargetsOf(names: ReadonlySet<string>): void {
  const client = EventBridgeClient.prototype;
  const send = Reflect.get(client, 'send') as (...parts: readonly unknown[]) => unknown;
  const refusal = Object.assign(new Error('Rate exceeded'), { name: 'ThrottlingException' });
  function value(this: EventBridgeClient, ...parts: readonly unknown[]): unknown {
    const [command] = parts;
    const isRefused = command instanceof ListTargetsByRuleCommand && names.has(command.input.Rule ?? '');
    return isRefused ? Promise.reject(refusal) : Reflect.apply(send, this, parts);
  }
  Object.defineProperty(client, 'send', { value, configurable: true });
  onTestFinished(() => void Reflect.deleteProperty(client, 'send'));
}

test('a rule whose targets cannot be read is unknown, and loses nothing that is known of the others', async () => {
  const { api, ask, open, breakQueue, events, publish, pass } = await setUp();
  await breakQueue();
  await events.send(
    new PutRuleCommand({ Name: 'orders', EventBusName: 'bus', EventPattern: '{"source":["x"]}' }),
  );
  await publish();
  pass(5 * MINUTE_MS);
  const unread = new Set(['orders']);
  refuseTargetsOf(unread);

  expect((await ask()).body).toMatchObject({
    rules: [
      { name: 'rule', verdict: 'failing', targets: [{ id: 'sqs' }] },
      { name: 'orders', verdict: 'unknown', reasons: ['What the rule delivers to could not be read.'] },
    ],
    faults: ['The targets of 1 rule cannot be read (ThrottlingException).'],
  });
  expect(await open('/console/subscriptions')).toContain('not known: its targets could not be read');

  unread.add('rule');
  pass(MINUTE_MS);
  const { rules } = (await ask()).body as { rules: readonly { verdict: string; reasons: string[] }[] };
  expect(rules.map(({ verdict }) => verdict)).toEqual(['failing', 'unknown']);
  expect(rules[0]?.reasons).toEqual(['In 24 hours EventBridge gave up 1 delivery.']);

  const token = createSecret(await api.issueToken({ validForMs: 1e9 }));
  const connection = { url: await listen(api), token, isLocalRun: false };
  const surroundings = processSurroundings(new AbortController().signal, () => {});
  const client = createBridgeClient(() => connection, surroundings);
  const findings = await examineBridge(client, {
    ...surroundings,
    clock: hastyClock(MINUTE_MS),
    note: () => {},
  });
  expect(findings.filter(({ check }) => check.startsWith('subscription'))).toMatchObject([
    { verdict: 'not checked', found: 'The targets of 2 rules cannot be read (ThrottlingException).' },
    { check: 'subscription rule', found: 'In 24 hours EventBridge gave up 1 delivery.' },
  ]);
});

test('rules concern all projects, and those of other accounts are for administrators', async () => {
  const { ask, breakQueue } = await setUp();
  await breakQueue();

  expect((await ask({ project_ids: ['p'] })).status).toBe(403);
  expect((await ask({ scopes: ['projects:read'] })).status).toBe(403);
  expect(ruleIn(await ask({ scopes: ['operations:read'] }))).toMatchObject({ name: 'rule' });
});

test('a bus with more rules than a page has says of all of them that they are there', async () => {
  const { ask, events } = await setUp();
  for (let number = 1; number <= 120; number++)
    await events.send(
      new PutRuleCommand({ Name: `rule-${number}`, EventBusName: 'bus', EventPattern: '{"source":["x"]}' }),
    );

  const { rules, further_rule_count } = (await ask()).body as {
    readonly rules: readonly object[];
    readonly further_rule_count: number;
  };
  expect(rules.length + further_rule_count).toBe(120);
});
