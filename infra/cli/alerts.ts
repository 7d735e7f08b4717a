/** `npm run alerts` shows each kind of alert in the terminal and writes it to files for a closer look. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CHANNEL_KINDS } from '../../functions/notifier/channels/channels.ts';
import { runCommand } from '../process/command.ts';
import { UsageError } from '../process/option-values.ts';
import { alertSamples, SAMPLE_LINKS } from './docs/alert-samples.ts';

const HELP = `npm run alerts -- [options]   alerts as people get them
  --sample NAME    only this one: ${alertSamples()
    .map(({ name }) => name)
    .join(', ')}
  --out DIR        also write each to a file for each channel, such as NAME.slack.json`;

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
    for (const { guide } of CHANNEL_KINDS) {
      const sample = guide.sampleOf(message, SAMPLE_LINKS);
      if (sample === undefined) continue;
      const { place, suffix, text } = sample;
      console.log(`=== ${name}, ${place}\n${text}`);
      if (values.out !== undefined) writeFileSync(join(values.out, `${name}.${suffix}`), text);
    }
  }
});
