/** `npm run alerts` shows each kind of alert in the terminal and writes it to files for a closer look. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderMail } from '../../functions/notifier/channels/render-mail.ts';
import { renderSlack } from '../../functions/notifier/channels/render-slack.ts';
import { runCommand } from '../process/command.ts';
import { UsageError } from '../process/option-values.ts';
import { alertSamples, SAMPLE_LINKS } from './docs/alert-samples.ts';

const HELP = `npm run alerts -- [options]   alerts as people get them
  --sample NAME    only this one: ${alertSamples()
    .map(({ name }) => name)
    .join(', ')}
  --out DIR        also write each as NAME.mail.txt and NAME.slack.json`;

await runCommand(async () => {
  const { values } = parseArgs({
    options: {
      sample: { type: 'string' },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const samples = alertSamples().filter(({ name }) => values.sample === undefined || values.sample === name);
  if (samples.length === 0) throw new UsageError(`--sample is "${values.sample}"; --help lists the samples.`);
  if (values.out !== undefined) mkdirSync(values.out, { recursive: true });
  for (const { name, message } of samples) {
    const { subject, body } = renderMail(message, SAMPLE_LINKS);
    const mail = `Subject: ${subject}\n\n${body}`;
    const slack = JSON.stringify(renderSlack(message, SAMPLE_LINKS), null, 2);
    console.log(`=== ${name}, by e-mail\n${mail}\n=== ${name}, on Slack\n${slack}\n`);
    if (values.out === undefined) continue;
    writeFileSync(join(values.out, `${name}.mail.txt`), mail);
    writeFileSync(join(values.out, `${name}.slack.json`), `${slack}\n`);
  }
});
