/** Reads options of `operations-bridge start` as the command does. */

import { Command } from 'commander';
import { declareStartOptions, readStartOptions, type StartOptions } from '../../infra/local/start-options.ts';

export function parseStartOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): StartOptions {
  const command = declareStartOptions(new Command());
  return readStartOptions(command.parse([...args], { from: 'user' }).opts(), environment);
}
