/** Declares and reads the options of `operations-bridge upstream`. */

import type { Command } from 'commander';
import {
  parseDuration,
  parseInteger,
  parsePort,
  parseShare,
  parseSpeed,
  UsageError,
} from '../process/command.ts';
import { dialsSchema, type FaultDials } from './faults.ts';
import { PLAN_NAMES, type PlanName } from './world/offer.ts';
import { SESSIONS_PER_HOUR } from './world/world.ts';

/** The values are texts as they stand on the command line. */
export interface ServeValues {
  readonly port: string;
  readonly host: readonly string[];
  readonly apiKey?: string;
  readonly seed: string;
  readonly projects: string;
  readonly sessions: string;
  readonly plan: string;
  readonly speed: string;
  readonly dial: readonly string[];
  readonly ties: string;
  readonly stuck: string;
  readonly trouble: string;
  readonly for?: string;
  readonly json?: boolean;
}

export function declareServeOptions(command: Command): Command {
  return command
    .option('--port <p>', 'port on 127.0.0.1; 0 is any free one', '0')
    .option(
      '--host <name>',
      'answers under this name, too, for example that of a container, and listens on all addresses of the machine; can be given several times',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option('--api-key <k>', 'the key that it accepts (default: derived from the seed)')
    .option('--seed <s>', 'decides everything that happens', '1')
    .option('--projects <n>', 'number of projects at the start', '25')
    .option(
      '--sessions <x>',
      'sessions of users in an hour of an average project, from 0 to 1000; with 0, only callers make things happen: no sessions, no availability checks, no new projects',
      String(SESSIONS_PER_HOUR),
    )
    .option(
      '--plan <name>',
      `${PLAN_NAMES.join(' or ')}: the plan of the account, which limits the size of computes`,
      'scale',
    )
    .option('--speed <x>', 'its time runs x times as fast as real time', '1')
    .option(
      '--dial <d=x>',
      'sets a fault dial from the start; can be given several times. The dials are rateLimited internalError unavailable htmlError droppedConnection halfBody partialProjects (0 to 1), retryAfterSeconds, latencyMs, visibleLateMs',
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option('--ties <x>', 'chance that two operations share the microsecond of their creation', '0')
    .option('--stuck <x>', 'chance that an operation never ends', '0')
    .option(
      '--trouble <x>',
      'chance factor of operations that fail, are cancelled or skipped: 1 is usual, 0 is never',
      '1',
    )
    .option('--for <d>', 'stops after a duration such as 90s, 5m or 2h')
    .option('--json', 'prints a line of JSON for the addresses, for each minute and for the end');
}

export interface ServeOptions {
  readonly port: number;
  readonly hosts: readonly string[];
  readonly apiKey: string;
  readonly seed: number;
  readonly projectCount: number;
  readonly speed: number;
  readonly forMs: number | undefined;
  readonly dials: Partial<FaultDials>;
  readonly sessionsPerHour: number;
  readonly plan: PlanName;
  readonly tieChance: number;
  readonly stuckChance: number;
  readonly trouble: number;
}

/** Throws `UsageError`. */
export function readServeOptions(values: ServeValues): ServeOptions {
  const seed = parseInteger('seed', values.seed, { min: 0, max: 2 ** 31 });
  return {
    port: parsePort('port', values.port),
    hosts: values.host.map(parseHost),
    // The key of a simulated service protects nothing, so it is printed and can be guessed from the seed.
    apiKey: parseApiKey(values.apiKey ?? `simulated-key-${seed}`),
    seed,
    projectCount: parseInteger('projects', values.projects, { min: 1, max: 5_000 }),
    speed: parseSpeed(values.speed),
    forMs: values.for === undefined ? undefined : parseDuration('for', values.for),
    dials: parseDials(values.dial),
    sessionsPerHour: parseSessions(values.sessions),
    plan: parsePlan(values.plan),
    tieChance: parseShare('ties', values.ties),
    stuckChance: parseShare('stuck', values.stuck),
    trouble: parseShare('trouble', values.trouble),
  };
}

function parseHost(text: string): string {
  if (/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text)) return text.toLowerCase();
  throw new UsageError(`--host is "${text}"; it takes the name of a host, without scheme and port.`);
}

/** Reads `name=value` pairs and checks each as the control route checks it. */
function parseDials(texts: readonly string[]): Partial<FaultDials> {
  const dials = Object.fromEntries(
    texts.map((text) => {
      const [name = '', value = ''] = text.split('=', 2);
      return [name, value.trim() === '' ? Number.NaN : Number(value)];
    }),
  );
  const parsed = dialsSchema.safeParse(dials);
  if (parsed.success) return withoutUndefined(parsed.data);
  const [issue] = parsed.error.issues;
  const name = issue?.path.join('.') || (issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : '');
  throw new UsageError(`--dial ${name} is not usable: ${issue?.message}. Write it as --dial unavailable=0.1`);
}

function withoutUndefined(dials: object): Partial<FaultDials> {
  return Object.fromEntries(Object.entries(dials).filter(([, value]) => value !== undefined));
}

/** A busier project would have more operations than the simulation can draw in real time. */
const SESSIONS_MAX = 1_000;

function parseSessions(text: string): number {
  const sessions = Number(text);
  if (text.trim() !== '' && sessions >= 0 && sessions <= SESSIONS_MAX) return sessions;
  throw new UsageError(`--sessions is "${text}"; it takes a number from 0 to ${SESSIONS_MAX}.`);
}

function parsePlan(text: string): PlanName {
  const plan = PLAN_NAMES.find((name) => name === text);
  if (plan !== undefined) return plan;
  throw new UsageError(`--plan is "${text}"; it takes ${PLAN_NAMES.join(' or ')}.`);
}

/** Accepts only characters that can stand in a header and, unquoted, in the printed command. */
function parseApiKey(text: string): string {
  if (/^[A-Za-z0-9._~+/=-]{1,200}$/.test(text)) return text;
  throw new UsageError('--api-key takes up to 200 letters, digits and . _ ~ + / = -, without spaces.');
}
