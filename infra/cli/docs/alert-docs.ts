/** Writes the samples of alerts: a file for each kind and channel, and their list in docs/alerts.md. */

import { alertSamples, samplesOf } from '../alerting/alert-samples.ts';
import { type GeneratedFile, withSection } from './generated-section.ts';

export function alertDocs(): readonly GeneratedFile[] {
  const samples = alertSamples().map(({ name, message }) => ({ name, files: samplesOf(message) }));
  const lines = samples.map(({ name, files }) => {
    const links = files.map(({ suffix }) => `[${suffix}](alerts/${name}.${suffix})`);
    return `- \`${name}\`: ${links.join(', ')}`;
  });
  return [
    withSection('docs/alerts.md', 'samples', lines.join('\n')),
    ...samples.flatMap(({ name, files }) =>
      files.map(({ suffix, text }) => ({ path: `docs/alerts/${name}.${suffix}`, text })),
    ),
  ];
}
