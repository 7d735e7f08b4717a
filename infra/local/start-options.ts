/** Reads the options of `npm start`. */

import { parseArgs } from 'node:util';
import type { Backfill } from '../../shared/core/records/operation-record.ts';
import { parseDuration, parseInteger, parsePort, parseSpeed, UsageError } from '../process/option-values.ts';

export const START_HELP = `npm start -- [options]   the whole bridge on this machine
  --projects N     projects of the simulated service (default 25)
  --seed S         decides everything that happens there (default 1)
  --speed X        simulated time runs X times as fast (default 1)
  --for D          stop after 90s, 5m, 2h of real time (default: until Ctrl-C)
  --upstream URL   bridge a real account instead; the key comes from UPSTREAM_API_KEY
  --data DIR       keep state, events and logs there; a restart goes on where it stopped
  --backfill MODE  open: tell operations that are open now (default); all: history too; none: only what changes
  --api-port P     port of the API on 127.0.0.1 (default: any free one)
  --port P         port of the local AWS on 127.0.0.1 (default: any free one)`;

export interface StartOptions {
  readonly upstream: SimulatedUpstream | RealUpstream;
  readonly speed: number;
  readonly forMs: number | undefined;
  readonly dataDir: string | undefined;
  readonly port: number;
  readonly apiPort: number;
  readonly backfill: Backfill;
}

export interface SimulatedUpstream {
  readonly kind: 'simulated';
  readonly projectCount: number;
  readonly seed: number;
}

export interface RealUpstream {
  readonly kind: 'real';
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** Returns undefined when help was asked for. Throws `UsageError`, or what `parseArgs` throws. */
export function parseStartOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): StartOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      projects: { type: 'string' },
      seed: { type: 'string' },
      speed: { type: 'string' },
      for: { type: 'string' },
      upstream: { type: 'string' },
      data: { type: 'string' },
      backfill: { type: 'string', default: 'open' },
      port: { type: 'string', default: '0' },
      'api-port': { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const { upstream, projects, seed, speed } = values;
  for (const [name, value] of Object.entries({ projects, seed, speed })) {
    if (upstream === undefined || value === undefined) continue;
    throw new UsageError(
      `--${name} belongs to the simulated service; it cannot go together with --upstream.`,
    );
  }
  return {
    upstream:
      upstream === undefined
        ? {
            kind: 'simulated',
            projectCount: parseInteger('projects', projects ?? '25', { min: 1, max: 5_000 }),
            seed: parseInteger('seed', seed ?? '1', { min: 0, max: 2 ** 31 }),
          }
        : { kind: 'real', baseUrl: parseBaseUrl(upstream), apiKey: readKey(environment) },
    speed: parseSpeed(speed ?? '1'),
    forMs: values.for === undefined ? undefined : parseDuration('for', values.for),
    dataDir: values.data,
    port: parsePort('port', values.port),
    apiPort: parsePort('api-port', values['api-port']),
    backfill: parseBackfill(values.backfill),
  };
}

function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (!isHttp)
    throw new UsageError(
      `--upstream is "${text}"; it takes the service's base URL, such as https://host/api/v2.`,
    );
  return text.replace(/\/+$/, '');
}

function readKey(environment: Readonly<Record<string, string | undefined>>): string {
  const key = environment['UPSTREAM_API_KEY']?.trim();
  if (!key) throw new UsageError('UPSTREAM_API_KEY is not set; put the API key of the account into it.');
  return key;
}

function parseBackfill(text: string): Backfill {
  if (text === 'open' || text === 'all' || text === 'none') return text;
  throw new UsageError(`--backfill is "${text}"; it takes open, all or none.`);
}
