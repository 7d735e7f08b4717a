/**
 * Simulates one seed: callers send the same commands again and again, each attempt in a process of its own that may
 * die, over a table that fails as DynamoDB does and an upstream whose answers get lost. The production code decides.
 */

import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { type CommandOutcome, type Sent, sendOnce } from '../../shared/commands/send-once.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import type { CommandRequest } from '../../shared/upstream/forward.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { deriveOptions } from '../simulation/options.ts';
import { createFaultyTable, createLaggingIndex } from '../simulation/ports.ts';
import type { Process } from '../simulation/scheduler.ts';
import { createWorld, type World } from '../simulation/world.ts';

const START_MS = Date.UTC(2026, 0, 15, 12);
const CHAOS_MS = 200_000;
const QUIET_MS = 400_000;
const COMMANDS = 6;

export interface IdempotencyViolation {
  readonly rule: 'twice' | 'untrue' | 'differs' | 'secret' | 'stuck';
  readonly detail: string;
}

interface Command {
  readonly key: string;
  readonly isSecret: boolean;
  /** Holds the body of the upstream's answer for each execution. */
  readonly executions: string[];
  /** Holds the bodies of successes that any caller got. */
  readonly successes: Set<string>;
  readonly lastReported: Map<string, string>;
}

export async function simulateIdempotency(seed: number): Promise<readonly IdempotencyViolation[]> {
  const options = deriveOptions(seed);
  const world = createWorld(
    {
      ...options,
      faults: {
        ...options.faults,
        pause: 0.03,
        table_reply_lost: 0.1,
        crash_after_call: 0.05,
        crash_before_call: 0.05,
      },
    },
    START_MS,
  );
  const table = createMemoryTable().as('api');
  const index = createLaggingIndex(world);
  const commands = Array.from({ length: COMMANDS }, (_, place) => aCommand(place));
  const violations: IdempotencyViolation[] = [];
  let processCount = 0;

  const attempt = async (command: Command, caller: string): Promise<string> => {
    const owner: Process = { name: `process-${++processCount}`, isCrashed: false, clockSkewMs: 0 };
    const clock = world.scheduler.clockOf(owner);
    const deps = {
      idempotency: createIdempotencyStore(createFaultyTable(world, { table, index, owner }), clock),
      pepper: async () => createSecret('a-pepper'),
      telemetry: silentTelemetry,
    };
    const answered = sendOnce(deps, requestOf(command, owner), () => execute(world, owner, command)).then(
      (outcome) => told(command, outcome, violations),
      () => 'failed',
    );
    // A caller who waits for a process that died gives up after this time.
    const gaveUp = world.scheduler.delay(undefined, 30_000).then(() => 'no answer');
    const result = await Promise.race([answered, gaveUp]);
    command.lastReported.set(caller, result);
    return result;
  };

  const caller = async (command: Command, name: string): Promise<void> => {
    while (world.scheduler.now() < START_MS + CHAOS_MS + QUIET_MS - 60_000) {
      const result = await attempt(command, name);
      if (isFinal(result) && !world.isChaotic) return;
      await world.scheduler.delay(undefined, 500 + world.random.next() * 8_000);
    }
  };

  for (const command of commands) for (const name of ['a', 'b']) void caller(command, name);
  await world.scheduler.runUntil(START_MS + CHAOS_MS);
  world.isChaotic = false;
  await world.scheduler.runUntil(START_MS + CHAOS_MS + QUIET_MS);

  return [...violations, ...commands.flatMap(judge)];
}

function aCommand(place: number): Command {
  return {
    key: `key-${place}`,
    isSecret: place % 3 === 2,
    executions: [],
    successes: new Set(),
    lastReported: new Map(),
  };
}

function requestOf({ key, isSecret }: Command, owner: Process): CommandRequest {
  return {
    requestId: owner.name,
    caller: { client_id: 'an-app', account_id: 'main' },
    target: { id: 'restartEndpoint', call: calls.restartEndpoint, isSecret },
    ids: { project_id: 'bold-sound-12345678', endpoint_id: 'ep-little-smoke-851426' },
    query: {},
    body: undefined,
    idempotencyKey: key,
  };
}

/** Plays the upstream: it refuses without work, works and answers, works and fails, or its answer is lost on the way. */
async function execute(world: World, owner: Process, command: Command): Promise<Sent> {
  const answer = await world.call(owner, () => {
    const refusal = world.isChaotic ? [423, 429, 503, 409][Math.floor(world.random.next() * 8)] : undefined;
    if (refusal !== undefined) return answerOf(refusal, 'not now');
    command.executions.push(`answer-${command.key}-${command.executions.length}`);
    if (world.strikes('upstream_unavailable')) return answerOf(500, 'it broke afterwards');
    return answerOf(200, command.executions.at(-1) ?? '');
  });
  return world.strikes('upstream_network') ? { kind: 'unanswered', failure: lostConnection() } : answer;
}

function answerOf(status: number, text: string): Sent {
  const headers = { 'content-type': 'application/json' };
  return { kind: 'answered', answer: { status, headers, body: new TextEncoder().encode(text) } };
}

function lostConnection(): UpstreamError {
  const { method, path } = calls.restartEndpoint;
  return new UpstreamError({ kind: 'network', method, path, message: 'The connection was lost.' });
}

function told(command: Command, outcome: CommandOutcome, violations: IdempotencyViolation[]): string {
  if (outcome.kind !== 'answered' && outcome.kind !== 'replayed') return outcome.kind;
  const { answer } = outcome;
  const body = typeof answer.body === 'string' ? answer.body : new TextDecoder().decode(answer.body);
  if (answer.status >= 300) return `refused ${answer.status}`;
  if (outcome.kind === 'replayed' && command.isSecret)
    violations.push({ rule: 'secret', detail: command.key });
  if (!command.executions.includes(body))
    violations.push({ rule: 'untrue', detail: `${command.key}: ${body}` });
  command.successes.add(body);
  return 'done';
}

/**
 * Says whether a caller can act on the result: the command is done, or its outcome is unknown. Any other result asks
 * for another attempt.
 */
function isFinal(result: string): boolean {
  return result === 'done' || result === 'outcome_unknown' || result === 'answer_not_kept';
}

function judge(command: Command): readonly IdempotencyViolation[] {
  const { key, executions, successes, lastReported } = command;
  const violations: IdempotencyViolation[] = [];
  if (executions.length > 1)
    violations.push({ rule: 'twice', detail: `${key}: ${executions.length} executions` });
  if (successes.size > 1)
    violations.push({ rule: 'differs', detail: `${key}: ${[...successes].join(', ')}` });
  for (const [caller, result] of lastReported) {
    if (!isFinal(result)) violations.push({ rule: 'stuck', detail: `${key}, caller ${caller}: ${result}` });
  }
  return violations;
}
