/** Subscribes in a real Chromium, deploys the shown pattern to the local AWS, and waits for the test event in the queue. */

import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ALL_READ, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { openPage, signIn } from './page-in-browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const BUS = 'operations-bridge';

/** Makes a queue that EventBridge may send to, and a rule of the pattern that delivers to it. */
async function deploy({ awsEndpoint, accessKey }: RunningBridge, pattern: string) {
  const settings = {
    endpoint: awsEndpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: accessKey, secretAccessKey: 'any' },
  };
  const [events, sqs] = [new EventBridgeClient(settings), new SQSClient(settings)];
  onTestFinished(() => {
    events.destroy();
    sqs.destroy();
  });
  const Arn = 'arn:aws:sqs:us-east-1:000000000000:failures';
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'events.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: Arn,
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { QueueUrl } = await sqs.send(
    new CreateQueueCommand({ QueueName: 'failures', Attributes: { Policy } }),
  );
  await events.send(new PutRuleCommand({ Name: 'failures', EventBusName: BUS, EventPattern: pattern }));
  await events.send(
    new PutTargetsCommand({ Rule: 'failures', EventBusName: BUS, Targets: [{ Id: 'queue', Arn }] }),
  );
  return {
    async received(): Promise<string | undefined> {
      const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
      return Messages?.[0]?.Body;
    },
  };
}

test('a person subscribes to failures, deploys the rule, and gets the test event', async () => {
  const bridge = await startBridge(ALL_READ, ['--projects', '4']);
  onTestFinished(() => bridge.stop());
  // The pattern names a project that does not exist, so nothing but the test event can match.
  const project = 'a-project-of-nobody-1';
  const { page, problems } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console`, bridge.token);

  await page.click('nav >> text=Subscriptions');
  await page.click('main >> text=Subscribe');
  await page.check('input[value=failures]');
  await page.fill('#project', project);
  await page.selectOption('#form', 'cdk');
  await page.click('text=Show the subscription');
  await page.click('summary:has-text("The pattern alone")');
  const pattern = (await page.textContent('#pattern')) ?? '';
  const queue = await deploy(bridge, pattern);
  await page.click('text=Send a test event');

  await page.waitForURL(/sent=/);
  const shown = /test event ([0-9a-f]{32})/.exec((await page.textContent('main')) ?? '')?.[1];
  const event = JSON.parse((await queue.received()) ?? '{}') as Record<string, unknown>;
  expect(event).toMatchObject({
    source: 'operations-bridge.test',
    'detail-type': 'Operation State Changed',
    detail: { id: shown, project_id: project, new_failures: 1, account_id: 'main' },
  });
  await page.click('text=Look again');
  expect(await page.textContent('#followed')).toContain('delivered');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Download')]);
  expect(download.suggestedFilename()).toMatch(/^failures-sqs-[0-9a-f]{8}\.ts$/);
  expect(problems).toEqual([]);
});

test('a person without scripts sees what a filter of the events would have delivered', async () => {
  const bridge = await startBridge(/-> failed/, ['--projects', '12', '--speed', '10']);
  onTestFinished(() => bridge.stop());
  const { page } = await openPage(browser, { javaScriptEnabled: false });
  await signIn(page, `${bridge.origin}/console/events`, bridge.token);
  await page.selectOption('#status', 'failed');
  await page.click('form.filter button');
  await page.click('a.button:has-text("Subscribe")');

  const [, matched, of] =
    /delivered (\d+) of the last (\d+)/.exec((await page.textContent('[role=status]')) ?? '') ?? [];

  expect(await page.isChecked('input[value=failures]')).toBe(true);
  expect(await page.textContent('#file')).toContain('AWS::SQS::Queue');
  expect(Number(matched)).toBeGreaterThan(0);
  expect(Number(of)).toBeGreaterThanOrEqual(Number(matched));
});
