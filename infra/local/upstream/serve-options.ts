/** The options of `npm run upstream`. */

import { parseArgs } from 'node:util';
import { parseDuration, parseInteger, parsePort, parseSpeed, UsageError } from '../option-values.ts';

export const SERVE_HELP = `npm run upstream -- [options]   the simulated service, alone
  --port P       port on 127.0.0.1 (default: any free one)
  --api-key K    the key it accepts (default: made from the seed)
  --seed S       decides everything that happens (default 1)
  --projects N   projects at the start (default 25)
  --speed X      its time runs X times as fast (default 1)
  --for D        stop after 90s, 5m, 2h (default: until Ctrl-C)`;

export interface ServeOptions {
  readonly port: number;
  readonly apiKey: string;
  readonly seed: number;
  readonly projectCount: number;
  readonly speed: number;
  readonly forMs: number | undefined;
}

/** Undefined: help was asked for. Throws `UsageError`, or what `parseArgs` throws. */
export function parseServeOptions(args: readonly string[]): ServeOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: 'string', default: '0' },
      'api-key': { type: 'string' },
      seed: { type: 'string', default: '1' },
      projects: { type: 'string', default: '25' },
      speed: { type: 'string', default: '1' },
      for: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const seed = parseInteger('seed', values.seed, { min: 0, max: 2 ** 31 });
  return {
    port: parsePort('port', values.port),
    // A throw-away key of a simulated service: printed and guessable on purpose.
    apiKey: parseApiKey(values['api-key'] ?? `simulated-key-${seed}`),
    seed,
    projectCount: parseInteger('projects', values.projects, { min: 1, max: 5_000 }),
    speed: parseSpeed(values.speed),
    forMs: values.for === undefined ? undefined : parseDuration('for', values.for),
  };
}

/** What can stand in a header and, unquoted, in the printed command. */
function parseApiKey(text: string): string {
  if (/^[A-Za-z0-9._~+/=-]{1,200}$/.test(text)) return text;
  throw new UsageError('--api-key takes up to 200 letters, digits and . _ ~ + / = -, without spaces.');
}
