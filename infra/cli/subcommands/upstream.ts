/** `operations-bridge upstream` runs the simulated service alone. */

import type { Command } from 'commander';
import type { Surroundings } from '../../process/surroundings.ts';
import { declareServeOptions, readServeOptions, type ServeValues } from '../../simulator/serve-options.ts';
import { createSubcommand } from './subcommand.ts';

export function upstreamSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'upstream',
    summary: 'Runs the simulated upstream service alone, for any client.',
    examples: ['operations-bridge upstream --port 4000 --seed 1 --api-key secret'],
  });
  return declareServeOptions(command).action(async (values: ServeValues) => {
    const options = readServeOptions(values);
    const { serveUpstream } = await import('../../simulator/serve.ts');
    await serveUpstream(options, { ...surroundings, isJson: values.json === true });
  });
}
