import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { alertSamples, sampleTarget, sendSample } from '../../infra/cli/sample-alert.ts';
import type { LocalAws } from '../../infra/local/aws/local-aws.ts';
import type { TopicMessage } from '../../infra/local/aws/sns.ts';
import { LOCAL_TOPIC_ARN } from '../../infra/local/queue-functions.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { openAws } from '../local/aws/aws-under-test.ts';
import { ROUTING_KEY } from '../notifier/channels/pagerduty-stand-in.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const KEY = `whsec_${'A'.repeat(32)}`;

interface Received {
  readonly data: { readonly alerts: readonly { readonly title: string; readonly meaning: string }[] };
}

/** Returns the environment of a webhook to a server that verifies each request and answers with this status. */
async function aReceiver(status = 204) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push(new Webhook(KEY).verify(body, request.headers as Record<string, string>) as Received);
      response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`;
  return { received, environment: { ALERT_WEBHOOK: JSON.stringify({ url, secret: KEY }) } };
}

function localRunOf({ endpoint, credentials }: LocalAws) {
  const run = { process_id: 1, url: '', token: '', upstream_base_url: '' };
  return { ...run, aws_endpoint: endpoint, access_key_id: credentials.accessKeyId };
}

describe('operations-bridge alerts', () => {
  test('shows a sample as each channel gets it, and sends nothing', async () => {
    const { environment, received } = await aReceiver();
    const { code, json } = await runSubcommand(['alerts', '--sample', 'failed', '--json'], { environment });

    expect(code).toBe(0);
    expect((json() as { place: string }[]).map(({ place }) => place)).toEqual([
      'on Slack',
      'by e-mail',
      'at PagerDuty',
      'by webhook',
    ]);
    expect(received).toEqual([]);
  });

  test('sends a sample that says in its title and its words that it is a test', async () => {
    const { environment, received } = await aReceiver();
    const args = ['alerts', '--sample', 'stalled', '--to', 'webhook', '--json'];
    const { code, json, notes } = await runSubcommand(args, { environment });

    expect(code).toBe(0);
    expect(json()).toEqual({ channel: 'webhook', kind: 'sent' });
    expect(notes).toMatch(/^The channel webhook has taken the message in \d+ ms\.$/);
    expect(received.flatMap(({ data }) => data.alerts)).toMatchObject([
      { title: 'Test: Operation takes too long', meaning: expect.stringContaining('Nothing has happened') },
    ]);
  });

  test('ends with 1 and the reason when the channel does not take the message', async () => {
    const { environment } = await aReceiver(503);
    const args = ['alerts', '--sample', 'failed', '--to', 'webhook'];
    const { code, notes } = await runSubcommand(args, { environment });

    expect([code, notes]).toEqual([
      1,
      'The channel webhook has not taken the message: the receiver answered 503.',
    ]);
  });

  test('sends nothing that the channel would not get', async () => {
    const environment = { PAGERDUTY_ROUTING_KEY: ROUTING_KEY };
    const args = ['alerts', '--sample', 'hourly_digest', '--to', 'pagerduty'];
    const { code, notes } = await runSubcommand(args, { environment });

    expect([code, notes]).toEqual([1, 'The channel pagerduty gets no such message.']);
  });

  test.each([
    [['--sample', 'broken'], /--sample is "broken"; there are the samples failed, escalated/],
    [['--to', 'slack'], /--sample is missing/],
    [
      ['--sample', 'failed', '--to', 'pager'],
      /--to is "pager"; there are the channels slack, email, pagerduty, webhook/,
    ],
    [['--sample', 'failed', '--to', 'email'], /--topic is missing/],
    [['--sample', 'failed', '--to', 'slack', '--local'], /No bridge runs on this machine/],
    [['--sample', 'failed', '--to', 'slack'], /The secret of slack is not the URL of an incoming webhook/],
  ])('%j is refused with a sentence that does not repeat the secret', async (args, sentence) => {
    const environment = { SLACK_WEBHOOK_URL: 'https://example.com/secret-part', HOME: '/nonexistent' };
    const running = runSubcommand(['alerts', ...args], { environment });

    await expect(running).rejects.toThrow(sentence);
    await expect(running).rejects.not.toThrow('secret-part');
  });

  test('sends a mail to the topic, through the real SDK', async () => {
    const { aws } = await openAws();
    const mails: TopicMessage[] = [];
    aws.topics.create(LOCAL_TOPIC_ARN, (mail) => void mails.push(mail));
    const run = localRunOf(aws);
    const target = sampleTarget({ to: 'email', local: true }, {}, () => run);
    const [sample] = alertSamples();

    expect(await sendSample(sample?.message ?? [], target, {}, systemClock)).toEqual({ kind: 'sent' });
    expect(mails.map(({ subject }) => subject)).toEqual([
      'Warning: Test: solitary-cell-58208823: start_compute failed: storage unavailable',
    ]);
  });

  test('reads the secret from AWS when the environment has none, and says which one cannot be read', async () => {
    const { aws } = await openAws();
    const { environment, received } = await aReceiver();
    const run = localRunOf(aws);
    const target = sampleTarget({ to: 'webhook', local: true }, {}, () => run);
    const [sample] = alertSamples();
    const send = () => sendSample(sample?.message ?? [], target, {}, systemClock);

    await expect(send()).rejects.toThrow(
      'The secret operations-bridge/channel-webhook cannot be read (ResourceNotFoundException)',
    );
    aws.secrets.create(target.secretId, environment.ALERT_WEBHOOK);
    expect(await send()).toEqual({ kind: 'sent' });
    expect(received.length).toBe(1);
  });

  test('says why AWS cannot be asked for a secret', async () => {
    const target = sampleTarget({ to: 'webhook' }, {}, () => undefined);
    const [sample] = alertSamples();
    vi.stubEnv('AWS_REGION', undefined);
    vi.stubEnv('AWS_DEFAULT_REGION', undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/no/such/file');
    onTestFinished(() => void vi.unstubAllEnvs());

    await expect(sendSample(sample?.message ?? [], target, {}, systemClock)).rejects.toThrow(
      'The secret operations-bridge/webhook cannot be read (Region is missing)',
    );
  });
});
