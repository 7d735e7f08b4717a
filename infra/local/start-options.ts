/** Declares and reads the options of `operations-bridge start`. */

import { join } from 'node:path';
import type { Command } from 'commander';
import { HELD_PLACES_MAX } from '../../shared/config/api-config.ts';
import { REQUESTS_PER_MINUTE_MAX } from '../../shared/rates/account-rate.ts';
import type { Backfill } from '../../shared/records/operation-record.ts';
import { counted } from '../../shared/runtime/counted.ts';
import {
  parseDuration,
  parseInteger,
  parsePort,
  parseShare,
  parseSpeed,
  UsageError,
} from '../process/command.ts';
import { IDENTITY_FILE, knownIdentity } from './kept-files.ts';
import type { SignInOption } from './local-sign-in.ts';

/** The values are texts as they stand on the command line. */
export interface StartValues {
  readonly projects?: string;
  readonly seed?: string;
  readonly speed?: string;
  readonly trouble?: string | true;
  readonly for?: string;
  readonly upstream?: string;
  readonly data?: string;
  readonly backfill: string;
  readonly apiPort: string;
  readonly port: string;
  readonly publicUrl?: string;
  readonly signIn?: string;
  readonly requestsPerSecond?: string;
  readonly callerRequestsPerMinute?: string;
  readonly callerWaits?: string;
  readonly json?: boolean;
}

export function declareStartOptions(command: Command): Command {
  return command
    .option('--projects <n>', 'number of projects of the simulated service (default: 25)')
    .option('--seed <s>', 'decides everything that happens there (default: 1)')
    .option('--speed <x>', 'time runs x times as fast as real time (default: 1)')
    .option(
      '--trouble [x]',
      'more operations fail there, are cancelled or skipped: 1 is usual, and the default is a calm world with a story',
    )
    .option('--for <d>', 'stops after a duration of real time, such as 90s, 5m or 2h')
    .option('--upstream <url>', 'uses a real account; its API key comes from UPSTREAM_API_KEY')
    .option(
      '--data <dir>',
      'keeps state, events and logs here, so that a restart continues the run, with its options and its token',
    )
    .option(
      '--backfill <mode>',
      'publishes at first sight open operations, all (history too) or none',
      'open',
    )
    .option('--api-port <p>', 'port of the API on 127.0.0.1; 0 is any free one', '0')
    .option('--port <p>', 'port of the local AWS on 127.0.0.1; 0 is any free one', '0')
    .option('--public-url <url>', 'a tunnel leads from this https address to the API; alerts link there')
    .option(
      '--sign-in <file>',
      'people may sign in at an OpenID provider; its settings are JSON, and its secret comes from SIGN_IN_CLIENT_SECRET',
    )
    .option('--requests-per-second <n>', 'callers of the API may send this many (default: 34)')
    .option('--caller-requests-per-minute <n>', 'one caller may send no more (default: all that is left)')
    .option('--caller-waits <n>', 'one caller may have this many requests that wait (default: 5)')
    .option('--json', 'prints a line of JSON for the addresses, for each event and for the end');
}

export interface StartOptions {
  readonly upstream: SimulatedUpstream | RealUpstream;
  readonly speed: number;
  readonly forMs: number | undefined;
  readonly dataDir: string | undefined;
  readonly port: number;
  readonly apiPort: number;
  /** The API can be reached from the internet at this origin. */
  readonly publicUrl: string | undefined;
  readonly backfill: Backfill;
  /** It is undefined when people sign in with the token alone. */
  readonly signIn: SignInOption | undefined;
  /** What differs from the defaults of an account. */
  readonly callers: Readonly<
    Partial<Record<'requests_per_second' | 'caller_requests_per_minute' | 'caller_waits_max', number>>
  >;
}

export interface SimulatedUpstream {
  readonly kind: 'simulated';
  readonly projectCount: number;
  readonly seed: number;
  /** It is undefined in a calm world, which tells a story in its first minute. */
  readonly trouble: number | undefined;
}

/** Its name tells a world from every other one. */
export function simulatedName({ seed, projectCount, trouble }: SimulatedUpstream): string {
  const kind = trouble === undefined ? ', calm' : trouble === 1 ? '' : `, trouble ${trouble}`;
  return `simulated, seed ${seed}, ${counted(projectCount, 'project')}${kind}`;
}

interface RealUpstream {
  readonly kind: 'real';
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** Throws `UsageError`. */
export function readStartOptions(
  given: StartValues,
  environment: Readonly<Record<string, string | undefined>>,
): StartOptions {
  const values = withOldOptions(given);
  const { upstream, projects, seed, speed, trouble } = values;
  for (const [name, value] of Object.entries({ projects, seed, speed, trouble })) {
    if (upstream === undefined || value === undefined) continue;
    throw new UsageError(
      `--${name} belongs to the simulated service; it cannot be combined with --upstream.`,
    );
  }
  return {
    upstream:
      upstream === undefined
        ? {
            kind: 'simulated',
            projectCount: parseInteger('projects', projects ?? '25', { min: 1, max: 5_000 }),
            seed: parseInteger('seed', seed ?? '1', { min: 0, max: 2 ** 31 }),
            trouble: parseTrouble(trouble),
          }
        : { kind: 'real', baseUrl: parseBaseUrl(upstream), apiKey: readKey(environment) },
    speed: parseSpeed(speed ?? '1'),
    forMs: values.for === undefined ? undefined : parseDuration('for', values.for),
    dataDir: values.data,
    port: parsePort('port', values.port),
    apiPort: parsePort('api-port', values.apiPort),
    publicUrl: values.publicUrl === undefined ? undefined : parsePublicUrl(values.publicUrl, speed),
    backfill: parseBackfill(values.backfill),
    signIn: readSignIn(values, environment),
    callers: readCallers(values),
  };
}

function readCallers({
  requestsPerSecond,
  callerRequestsPerMinute,
  callerWaits,
}: StartValues): StartOptions['callers'] {
  const read = (name: string, text: string | undefined, setting: string, min: number, max: number) =>
    text === undefined ? {} : { [setting]: parseInteger(name, text, { min, max }) };
  return {
    ...read('requests-per-second', requestsPerSecond, 'requests_per_second', 1, REQUESTS_PER_MINUTE_MAX),
    ...read(
      'caller-requests-per-minute',
      callerRequestsPerMinute,
      'caller_requests_per_minute',
      2,
      REQUESTS_PER_MINUTE_MAX,
    ),
    ...read('caller-waits', callerWaits, 'caller_waits_max', 1, HELD_PLACES_MAX),
  };
}

/** The option without a number means as much trouble as in a real service. */
function parseTrouble(given: string | true | undefined): number | undefined {
  return typeof given === 'string' ? parseShare('trouble', given) : given && 1;
}

/** Without options of its own, a run takes those of the run that the folder belongs to. */
function withOldOptions(given: StartValues): StartValues {
  const known = given.data === undefined ? undefined : knownIdentity(join(given.data, IDENTITY_FILE));
  if (known === undefined || given.upstream !== undefined) return given;
  const [, seed, projects, kind] =
    /^simulated, seed (\d+), (\d+) projects(?:, (?:trouble )?(calm|[\d.]+))?$/.exec(known.upstream) ?? [];
  if (seed !== undefined && projects !== undefined) {
    const old = { seed, projects, speed: String(known.speed) };
    return { ...old, ...(kind !== 'calm' && { trouble: kind ?? '1' }), ...given };
  }
  const isFree = [given.projects, given.seed, given.speed].every((value) => value === undefined);
  return isFree ? { ...given, upstream: known.upstream } : given;
}

/** Slack signs with the time of a clock, which a run at another speed does not have. */
function parsePublicUrl(text: string, speed: string | undefined): string {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:')
    throw new UsageError(
      `--public-url is "${text}"; it takes an address such as https://bridge.example.com.`,
    );
  if (speed !== undefined && parseSpeed(speed) !== 1)
    throw new UsageError('--public-url needs the real time; it cannot be combined with --speed.');
  return url.origin;
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

/** The provider's times are real, and its tokens name them. */
function readSignIn(
  { signIn: file, speed }: StartValues,
  environment: Readonly<Record<string, string | undefined>>,
): SignInOption | undefined {
  if (file === undefined) return undefined;
  if (speed !== undefined && parseSpeed(speed) !== 1)
    throw new UsageError(
      '--sign-in needs real time, because the provider has it; it cannot be combined with --speed.',
    );
  return { file, clientSecret: environment['SIGN_IN_CLIENT_SECRET'] || undefined };
}

function parseBackfill(text: string): Backfill {
  if (text === 'open' || text === 'all' || text === 'none') return text;
  throw new UsageError(`--backfill is "${text}"; it takes open, all or none.`);
}
