/** `operations-bridge alerts` shows what alerts look like, and sends one to a channel as a test. */

import { EXIT_CODES, UsageError } from '../../process/command.ts';
import { findLocalRun } from '../connection.ts';
import type { SampleResult, TargetValues } from '../sample-alert.ts';
import { type Asked, acting } from './subcommand.ts';

interface AlertsValues extends TargetValues {
  readonly sample?: string;
  readonly consoleUrl?: string;
}

export const alertsSubcommand = acting<AlertsValues>({
  usage: 'alerts',
  summary: 'Shows what alerts look like, and sends one to a channel as a test.',
  description:
    'Without --to it prints the samples of docs/alerts.md as each channel gets them. With --to it sends one, as the ' +
    'notifier would and marked as a test. The secret of the channel is the value of SLACK_WEBHOOK_URL, ' +
    'PAGERDUTY_ROUTING_KEY or ALERT_WEBHOOK if that is set, and otherwise a secret on AWS.',
  examples: [
    'operations-bridge alerts --sample failed',
    'operations-bridge alerts --sample failed --to slack --secret operations-bridge/slack',
    'operations-bridge alerts --sample stalled --to email --local',
  ],
  exitCodes: {
    succeeded: 'the samples are shown, or the channel has taken the message',
    failed: 'the channel has not taken the message',
  },
  options: [
    ['--sample <name>', 'this sample, such as failed, stalled, recovered or hourly_digest'],
    ['--to <channel>', 'sends it to slack, email, pagerduty or webhook'],
    ['--secret <name>', 'the secret of the channel on AWS (default: operations-bridge/<channel>)'],
    ['--topic <arn>', 'the topic of the mails, <name>-alerts'],
    ['--local', 'the channel of the bridge that "start" runs on this machine'],
    ['--console-url <url>', 'the links lead to this console (default: there are none)'],
    ['--json', 'prints JSON'],
  ],
  act: showOrSend,
});

async function showOrSend(asked: Asked<AlertsValues>): Promise<void> {
  const { values } = asked;
  const { alertSamples } = await import('../sample-alert.ts');
  const all = alertSamples();
  const chosen = all.filter(({ name }) => values.sample === undefined || values.sample === name);
  const names = all.map(({ name }) => name).join(', ');
  if (chosen.length === 0)
    throw new UsageError(`--sample is "${values.sample}"; there are the samples ${names}.`);
  if (values.to === undefined) return show(chosen, asked);
  const [sample] = chosen;
  if (values.sample === undefined || sample === undefined)
    throw new UsageError(`--sample is missing; there are the samples ${names}.`);
  await send(sample.message, asked);
}

type Samples = ReturnType<typeof import('../sample-alert.ts').alertSamples>;

async function show(chosen: Samples, { values, print }: Asked<AlertsValues>): Promise<void> {
  const { samplesOf } = await import('../sample-alert.ts');
  const shown = chosen.flatMap(({ name, message }) =>
    samplesOf(message).map(({ place, text }) => ({ name, place, text })),
  );
  if (values.json) return print(JSON.stringify(shown));
  for (const { name, place, text } of shown) print(`=== ${name}, ${place}\n${text}`);
}

async function send(
  message: Samples[number]['message'],
  { environment, clock, print, note, exitWith, values }: Asked<AlertsValues>,
): Promise<void> {
  const { sampleTarget } = await import('../sample-alert.ts');
  const { sendSample } = await import('../sample-alert.ts');
  const target = sampleTarget(values, environment, () => findLocalRun(environment));
  const startMs = clock.now();
  const result = await sendSample(message, target, { consoleBaseUrl: values.consoleUrl }, clock);
  if (values.json) print(JSON.stringify({ channel: target.channel, ...result }));
  note(sentenceOf(target.channel, result, clock.now() - startMs));
  if (result.kind !== 'sent') exitWith(EXIT_CODES.failed);
}

function sentenceOf(channel: string, result: SampleResult, durationMs: number): string {
  switch (result.kind) {
    case 'sent':
      return `The channel ${channel} has taken the message in ${Math.round(durationMs)} ms.`;
    case 'not_taken':
      return `The channel ${channel} gets no such message.`;
    case 'refused':
    case 'failed':
      return `The channel ${channel} has not taken the message: ${result.reason}.`;
  }
}
