/**
 * `operations-bridge wait` waits for the end of what others started: a command, an operation or a branch. It asks the
 * bridge with long polls, through short outages, and what became of it decides the exit code.
 */

import * as z from 'zod';
import type { CommandState } from '../../../shared/commands/queued-command.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { oneLine } from '../../../shared/runtime/foreign-text.ts';
import { EXIT_CODES, type ExitCode, parseDuration, UsageError } from '../../process/command.ts';
import { within } from '../../process/surroundings.ts';
import {
  askedPauseMs,
  BridgeAbsence,
  type BridgeClient,
  BridgeRefusal,
  type BridgeSilence,
  createBridgeClient,
  isPassing,
} from '../bridge-client.ts';
import { type Asked, asking } from './subcommand.ts';

interface WaitValues {
  readonly project?: string;
  readonly timeout: string;
  readonly appearsWithin: string;
}

export const OUTCOME_CODES = {
  succeeded: 'it succeeded',
  failed: 'it failed',
  refused: 'it was refused or denied, or was withdrawn or expired before it was sent; or see the message',
  unknown: 'it is not known whether the upstream carried it out',
  timed_out: 'it had not ended when the time was over, here or (incomplete) at the bridge',
  interrupted: 'Ctrl-C came before it ended',
} as const;

export const waitSubcommand = asking<WaitValues>({
  usage: 'wait <kind> <id>',
  summary: 'Waits for the end of an operation, a branch or a command that others started.',
  description:
    'The kind is operation, branch or command. Operations and branches need --project. ' +
    'An operation that failed is waited for, because the upstream may try again. ' +
    'What the bridge does not know yet is waited for, too, for as long as --appears-within says.',
  examples: [
    'operations-bridge wait operation d6ad21e4-725d-493f-a495-43867ad88d09 --project icy-hat-70322459',
    'operations-bridge wait branch br-yellow-dawn-a5qftt8g --project icy-hat-70322459 --timeout 5m',
  ],
  exitCodes: { ...OUTCOME_CODES, not_found: 'nobody knows the id; --appears-within waits longer for one' },
  options: [
    ['--project <id>', 'the project of the operation, the branch or the command'],
    ['--timeout <d>', 'waits at most this long', '10m'],
    ['--appears-within <d>', 'gives up on an id that nobody knows after this time', '30s'],
    ['--json', 'prints the outcome as JSON'],
  ],
  act: waitForEnd,
});

async function waitForEnd(asked: Asked<WaitValues>): Promise<void> {
  const {
    args: [kind = '', id = ''],
    values,
    clock,
    note,
  } = asked;
  const timeoutMs = parseDuration('timeout', values.timeout);
  const appearsWithinMs = parseDuration('appears-within', values.appearsWithin);
  const find = await asked.find();
  const onProgress = (sentence: string) => note(`${kind} ${id}: ${sentence}`);
  const outcome = await within(timeoutMs + LAST_ANSWER_MS, asked, (signal) => {
    const client = createBridgeClient(find, { ...asked, signal });
    const ask = questionOf(client, { kind, id, project: values.project });
    return waitUntil({ ask, timeoutMs, appearsWithinMs, clock, signal, onProgress });
  });
  reportOutcome(outcome, asked);
}

function questionOf(
  client: BridgeClient,
  { kind, id, project }: { readonly kind: string; readonly id: string; readonly project: string | undefined },
) {
  if (kind === 'command') return askForCommand(client, id, project);
  if (kind !== 'operation' && kind !== 'branch')
    throw new UsageError(`"${kind}" cannot be waited for; the kind is operation, branch or command.`);
  if (project === undefined)
    throw new UsageError(`--project is missing; it takes the project of the ${kind}.`);
  return kind === 'operation' ? askForOperation(client, project, id) : askForBranch(client, project, id);
}

/** Prints the outcome, and sets the exit code. */
function reportOutcome(outcome: Outcome, { args, show, signal, exitWith }: Asked<unknown>): void {
  const { kind, state, seen } = outcome;
  const [noun = '', id = ''] = args;
  const name = `${noun.charAt(0).toUpperCase()}${noun.slice(1)} ${id}`;
  show({ outcome: kind, state, seen }, sentenceOf(name, outcome));
  const wasInterrupted = kind === 'pending' && signal.aborted;
  exitWith(wasInterrupted ? EXIT_CODES.interrupted : exitCodeOf(outcome));
}

type Ask = (waitSeconds: number) => Promise<Outcome>;

function askForOperation(client: BridgeClient, projectId: string, operationId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/operations/${encodeURIComponent(operationId)}`;
  return async (wait) => outcomeOfOperation(await client.read(get(path, { wait }), operationAnswer));
}

/** A command that was sent with "Prefer: respond-async". */
export function askForQueued(client: BridgeClient, commandId: string): Ask {
  const path = `/bridge/v1/commands/${encodeURIComponent(commandId)}`;
  return async (wait) => outcomeOfQueued(await client.read(get(path, { wait }), queuedCommandAnswer));
}

/** A command that was sent at once, and whose operations are waited for. */
export function askForSent(client: BridgeClient, projectId: string, requestId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/commands/${encodeURIComponent(requestId)}`;
  return async (wait) => outcomeOfSent(await client.read(get(path, { wait }), sentCommandAnswer));
}

/** A command of either kind. Only a queued one can be found without its project. */
function askForCommand(client: BridgeClient, id: string, projectId: string | undefined): Ask {
  const queued = askForQueued(client, id);
  if (projectId === undefined) return queued;
  const sent = askForSent(client, projectId, id);
  return async (wait) => {
    try {
      return await queued(wait);
    } catch (error) {
      if (error instanceof BridgeRefusal && error.status === 404) return sent(wait);
      throw error;
    }
  };
}

const branchAnswer = z.looseObject({
  branch: z.looseObject({ id: z.string(), current_state: z.string().optional() }),
});

const openOperations = z.looseObject({ operations: z.array(z.looseObject({ action: z.string() })) });

/** The bridge knows a branch whose creation it has seen; the upstream is asked about an older one. */
function askForBranch(client: BridgeClient, projectId: string, branchId: string): Ask {
  const path = `/bridge/v1/projects/${encodeURIComponent(projectId)}/branches/${encodeURIComponent(branchId)}`;
  const tracked: Ask = async (wait) =>
    outcomeOfBranch(await client.read(get(path, { wait }), trackedBranchAnswer));
  const olderThanTheBridge = askUpstreamForBranch(client, projectId, branchId);
  return async (wait) => {
    try {
      const outcome = await tracked(0);
      return outcome.kind === 'pending' ? await tracked(wait) : outcome;
    } catch (error) {
      if (error instanceof BridgeRefusal && error.status === 404) return olderThanTheBridge(wait);
      throw error;
    }
  };
}

/** Such a branch can be used when the upstream calls it ready and none of its operations is open. */
function askUpstreamForBranch(client: BridgeClient, projectId: string, branchId: string): Ask {
  const project = encodeURIComponent(projectId);
  const list = get(`/bridge/v1/projects/${project}/operations`, { branch_id: branchId, open: 'true' });
  return async () => {
    const path = `/api/v2/projects/${project}/branches/${encodeURIComponent(branchId)}`;
    const { branch } = await client.read(get(path, {}), branchAnswer);
    const { operations } = await client.read(list, openOperations);
    const state = branch.current_state ?? 'ready';
    if (state !== 'ready') return { kind: 'pending', state, seen: branch };
    if (operations.length === 0) return { kind: 'succeeded', state, seen: branch };
    return { kind: 'pending', state: operations.map(({ action }) => action).join(', '), seen: branch };
  };
}

function get(path: string, query: Readonly<Record<string, string | number>>) {
  return { method: 'GET', path, query };
}

/** `pending` says that it has not ended; a failed operation is pending, because the upstream may try again. */
export interface Outcome {
  readonly kind: 'pending' | 'succeeded' | 'failed' | 'incomplete' | 'refused' | 'unknown' | 'not_found';
  /** The state in the words of the bridge, such as `running` or `expired`. */
  readonly state: string;
  /** What the bridge said, for people and for `--json`. */
  readonly seen: unknown;
  /** A sentence on why, when there is one. */
  readonly reason?: string | undefined;
}

/** Commands of both kinds end in these states. One that a newer bridge may have is not among them. */
const COMMAND_KINDS: Readonly<Record<string, Outcome['kind']>> = {
  awaiting_approval: 'pending',
  queued: 'pending',
  sent: 'pending',
  running: 'pending',
  succeeded: 'succeeded',
  failed: 'failed',
  incomplete: 'incomplete',
  refused: 'refused',
  expired: 'refused',
  cancelled: 'refused',
  denied: 'refused',
  unknown: 'unknown',
} satisfies Record<CommandState, Outcome['kind']>;

const queuedCommandAnswer = z.looseObject({
  command: z.looseObject({
    command_id: z.string(),
    project_id: z.string(),
    state: z.string(),
    reason: z.string().optional(),
  }),
});

/** A command that waited in line. In the state `unknown` it may have been carried out. */
function outcomeOfQueued({ command }: z.output<typeof queuedCommandAnswer>): Outcome {
  const { state, reason } = command;
  return { kind: COMMAND_KINDS[state] ?? 'failed', state, reason, seen: command };
}

const sentCommandAnswer = z.looseObject({
  command: z.looseObject({
    settled: z.boolean(),
    events: z.array(
      z.looseObject({ detail_type: z.string(), detail: z.looseObject({ outcome: z.string().optional() }) }),
    ),
  }),
});

/** A command that was sent at once. Its event `Command Settled` says how it ended. */
function outcomeOfSent({ command }: z.output<typeof sentCommandAnswer>): Outcome {
  if (!command.settled) return { kind: 'pending', state: 'running', seen: command };
  const settled = command.events.find(({ detail_type }) => detail_type === 'Command Settled');
  const state = settled?.detail.outcome ?? 'failed';
  return { kind: COMMAND_KINDS[state] ?? 'failed', state, seen: settled?.detail ?? command };
}

const operationAnswer = z.looseObject({
  operation: z.looseObject({ status: z.string(), open: z.boolean() }),
});

/** In these statuses an operation did what was asked, or did not have to. */
const GOOD_ENDS: ReadonlySet<string> = new Set(['finished', 'skipped']);

/** The bridge stops watching a `failed` operation after 30 days; until then the upstream may try again. */
function outcomeOfOperation({ operation }: z.output<typeof operationAnswer>): Outcome {
  const { status, open } = operation;
  if (open) return { kind: 'pending', state: status, seen: operation };
  return { kind: GOOD_ENDS.has(status) ? 'succeeded' : 'failed', state: status, seen: operation };
}

const trackedBranchAnswer = z.looseObject({
  branch: z.looseObject({ readiness: z.enum(['pending', 'ready', 'failed']) }),
});

const BRANCH_KINDS = { pending: 'pending', ready: 'succeeded', failed: 'failed' } as const;

/** A branch whose creation the bridge has seen. */
function outcomeOfBranch({ branch }: z.output<typeof trackedBranchAnswer>): Outcome {
  return { kind: BRANCH_KINDS[branch.readiness], state: branch.readiness, seen: branch };
}

const SENTENCES: Readonly<Record<Outcome['kind'], string>> = {
  pending: 'has not ended',
  succeeded: 'has succeeded',
  failed: 'has failed',
  incomplete: 'was accepted, and its operations had not all ended when the bridge stopped waiting for them',
  refused: 'was not carried out',
  unknown: 'may have been carried out, which is not known',
  not_found: 'is known to nobody; check the id and the project',
};

/** Returns for example `Operation op-1 has succeeded (finished).` A state that says no more than the verb is left out. */
export function sentenceOf(name: string, { kind, state }: Outcome): string {
  const words = SENTENCES[kind];
  return `${name} ${words}${words.endsWith(state) || state === 'unknown' ? '' : ` (${oneLine(state)})`}.`;
}

export function exitCodeOf({ kind }: Outcome): ExitCode {
  if (kind === 'pending' || kind === 'incomplete') return EXIT_CODES.timed_out;
  return EXIT_CODES[kind];
}

export interface Waiting {
  /** Holds the answer back for up to `waitSeconds` while the outcome is pending. */
  readonly ask: (waitSeconds: number) => Promise<Outcome>;
  readonly timeoutMs: number;
  /** What nobody has known for this long is given up. By default it is waited for until the time is over. */
  readonly appearsWithinMs?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence for each new state, and for an outage. */
  readonly onProgress: (sentence: string) => void;
}

/** The bridge holds an answer back for at most this long. */
const WAIT_SECONDS_MAX = 25;

const PAUSE_MS = 1_000;

/** An answer to the last question is still taken this long after the time is over. */
export const LAST_ANSWER_MS = 5_000;

const UNKNOWN: Outcome = { kind: 'pending', state: 'unknown', seen: null };
const NOT_FOUND: Outcome = { ...UNKNOWN, kind: 'not_found' };

/**
 * Resolves to the last outcome that was seen, which is pending when the time is over or the signal aborts. What the
 * bridge does not know yet (404) is waited for, too. While the bridge is away, nothing can be known. Rejects with
 * `BridgeAbsence` when there is no bridge within `appearsWithinMs`, if it is given.
 */
export async function waitUntil(waiting: Waiting): Promise<Outcome> {
  const { ask, timeoutMs, appearsWithinMs = timeoutMs, clock, signal, onProgress } = waiting;
  const untilMs = clock.now() + timeoutMs;
  let appearsByMs = clock.now() + appearsWithinMs;
  let outcome = UNKNOWN;
  let trouble: string | undefined;
  while (!signal.aborted) {
    const leftMs = Math.min(untilMs, outcome === UNKNOWN ? appearsByMs : untilMs) - clock.now();
    let pauseMs = PAUSE_MS;
    try {
      const seen = await ask(Math.max(0, Math.min(WAIT_SECONDS_MAX, Math.floor(leftMs / 1_000))));
      if (seen.state !== outcome.state) onProgress(progressOf(seen));
      outcome = seen;
      trouble = undefined;
    } catch (error) {
      if (signal.aborted) break;
      if (!isWorthAsking(error)) throw error;
      if (error.message !== trouble) onProgress(error.message);
      trouble = error.message;
      pauseMs = Math.max(PAUSE_MS, askedPauseMs(error));
      if (error instanceof BridgeAbsence) {
        const isLate = clock.now() >= Math.min(appearsByMs, untilMs);
        if (waiting.appearsWithinMs !== undefined && outcome === UNKNOWN && isLate) throw error;
      } else if (isPassing(error)) appearsByMs = clock.now() + pauseMs + appearsWithinMs;
      else if (outcome === UNKNOWN && clock.now() >= appearsByMs) return NOT_FOUND;
    }
    if (outcome.kind !== 'pending' || clock.now() >= untilMs) return outcome;
    await clock.sleep(Math.min(pauseMs, Math.max(0, untilMs - clock.now())), signal).catch(() => {});
  }
  return outcome;
}

function progressOf({ state, reason }: Outcome): string {
  return oneLine(reason === undefined ? state : `${state}: ${reason}`);
}

/** What the bridge does not know yet may come to be known. */
function isWorthAsking(error: unknown): error is BridgeSilence | BridgeRefusal {
  return isPassing(error) || (error instanceof BridgeRefusal && error.status === 404);
}
