/** Reads options of `operations-bridge upstream` as the command does. */

import { Command } from 'commander';
import {
  declareServeOptions,
  readServeOptions,
  type ServeOptions,
} from '../../infra/simulator/serve-options.ts';

/** Throws for an option that does not exist. */
export function parseServeOptions(args: readonly string[]): ServeOptions {
  const command = declareServeOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return readServeOptions(command.parse([...args], { from: 'user' }).opts());
}
