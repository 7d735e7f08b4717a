/**
 * Reads the queue of one account for its callers, shows a queued command as the API answers with it, and holds all
 * commands of the account or lets them go on.
 */

import * as z from 'zod';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { inLife } from '../../../shared/callers/seal.ts';
import { type Callbacks, callbackView, createCallbacks } from '../../../shared/commands/callbacks.ts';
import {
  COMMAND_KEPT_MS,
  createQueueStore,
  openAnswer,
  type QueueStore,
  type QueueStorePorts,
} from '../../../shared/commands/queue-store.ts';
import {
  type AccountFreeze,
  COMMAND_STATES,
  hasSettled,
  isInLine,
  type ProjectLine,
  type QueuedCommand,
  standingOf,
} from '../../../shared/commands/queued-command.ts';
import type { Wakes } from '../../../shared/commands/wakes.ts';
import type { ApiAccount } from '../../../shared/config/api-config.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import { isoTimeOf } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { commandKey } from '../../../shared/store/keys.ts';
import { createCommandRecords } from '../../../shared/store/records.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { Waiting } from '../../../shared/upstream/forward.ts';
import { Problem } from '../serving/problem.ts';
import { createKnownProjects, type KnownProjects, type KnownProjectsDeps } from './accept-command.ts';

export interface AccountQueue {
  /** A command may name a deadline this far ahead. */
  readonly deadlineSecondsMax: number;
  readonly store: QueueStore;
  readonly callbacks: Callbacks;
  readonly projects: KnownProjects;
  readonly freeze: FreezeWatch;
  /** Resolves to undefined when there is no such command, or not any more. */
  find(commandId: string): Promise<FoundCommand | undefined>;
  /** Resolves to undefined until the command has started operations, or has ended. */
  readRecord(projectId: string, commandId: string): Promise<CommandRecord | undefined>;
}

export function createAccountQueue(
  table: Table,
  { account_id: accountId, command_deadline_seconds_max }: ApiAccount,
  ports: QueueStorePorts & Pick<KnownProjectsDeps, 'upstream' | 'telemetry' | 'admit'>,
): AccountQueue {
  const { clock, noteUnreadable } = ports;
  const store = createQueueStore(table, accountId, ports);
  const records = createCommandRecords(table, noteUnreadable);
  const readRecord: AccountQueue['readRecord'] = async (projectId, commandId) =>
    (await records.readCommands([commandKey(accountId, projectId, commandId)]))[0];
  return {
    deadlineSecondsMax: command_deadline_seconds_max,
    store,
    callbacks: createCallbacks(table, accountId, noteUnreadable),
    projects: createKnownProjects({ ...ports, table, accountId }),
    freeze: createFreezeWatch(store, clock),
    readRecord,
    async find(commandId) {
      const command = await store.readCommand(commandId);
      if (command === undefined) return undefined;
      const { project_id } = command;
      if (isInLine(command)) return { command, record: undefined, line: await store.readLine(project_id) };
      const record = command.state === 'running' ? await readRecord(project_id, commandId) : undefined;
      return { command, record, line: undefined };
    },
  };
}

/** A command with what else the table says of it. */
export interface FoundCommand {
  readonly command: QueuedCommand;
  /** This is undefined until the command has started operations, or has ended. */
  readonly record: CommandRecord | undefined;
  /** This is undefined when the command is not in line, or its line was not read. */
  readonly line: ProjectLine | undefined;
}

export const commandSchema = z.looseObject({
  command_id: z.string(),
  project_id: z.string(),
  call: z.string(),
  client_id: z.string(),
  state: z
    .enum(COMMAND_STATES)
    .describe(
      'awaiting_approval: a person has to approve it first. queued and sent: it is in line. running: its operations have not all ended. All others are final; unknown means that no answer says whether it was carried out, and that it is never sent again.',
    ),
  settled: z.boolean(),
  decided_by: z.string().optional().describe('The caller who approved or denied it.'),
  reason: z.string().optional().describe('Why it ended without an answer of the upstream.'),
  accepted_at: z.string(),
  deadline_at: z.string().describe('It is not sent later than this.'),
  left_line_at: z.string().optional(),
  commands_before: z.number().optional().describe('How many commands of the project are sent before it.'),
  waiting_for: z
    .array(z.string())
    .optional()
    .describe('The operations that hold the project, while it is first.'),
  operation_ids: z.array(z.string()),
  callback: callbackView.optional().describe('The task of a workflow that waits for the end.'),
  answer: z
    .object({ status: z.number(), content_type: z.string().optional(), body: z.string().optional() })
    .optional()
    .describe(
      "The upstream's answer, for a day (two after an approval) and for the caller who sent the command, without connection strings and passwords, which can be asked for again.",
    ),
});

export const queuedAnswer = z.object({ command: commandSchema });

export function commandView({ command, record, line }: FoundCommand): z.input<typeof commandSchema> {
  const { command_id, project_id, call, client_id, accepted_at, deadline_at_ms, left_line_at } = command;
  const standing = standingOf(command, record);
  return {
    command_id,
    project_id,
    call,
    client_id,
    state: standing.state,
    settled: hasSettled(standing),
    decided_by: command.decided_by,
    reason: standing.reason,
    accepted_at,
    deadline_at: isoTimeOf(deadline_at_ms),
    left_line_at,
    ...(line && placeIn(line, command)),
    operation_ids: command.operation_ids ?? [],
  };
}

/** A command that is being accepted or removed is not in its line, and has no place to show. */
function placeIn({ entries, waiting_for }: ProjectLine, { command_id }: QueuedCommand) {
  const before = entries.findIndex((entry) => entry.command_id === command_id);
  if (before < 0) return {};
  return { commands_before: before, ...(before === 0 && { waiting_for }) };
}

export interface KeptAnswer {
  readonly status: number;
  readonly content_type?: string | undefined;
  /** This is undefined when the body was not kept, or can no longer be opened. */
  readonly body?: string | undefined;
}

/** A person may take a day to approve a command, and its request finds it for two days. */
const APPROVED_KEPT_MS = 2 * COMMAND_KEPT_MS;

/** Returns undefined for other callers, when its time is over, and when there was no answer. */
export function answerFor(
  { command_id, client_id, approval, left_line_at, answer }: QueuedCommand,
  caller: Caller,
  queueKey: Secret,
  nowMs: number,
): KeptAnswer | undefined {
  if (answer === undefined || caller.client_id !== client_id) return undefined;
  const keptMs = approval === undefined ? COMMAND_KEPT_MS : APPROVED_KEPT_MS;
  if (nowMs - Date.parse(left_line_at ?? '') >= keptMs) return undefined;
  const { status, content_type, body } = answer;
  return {
    status,
    content_type,
    body: body === undefined ? undefined : openAnswer(body, queueKey, inLife(caller.generation, command_id)),
  };
}

/** A freeze lasts for minutes at least. */
const RETRY_AFTER_SECONDS = '60';

/** Rejects with `Problem` `frozen`, which gives the reason. Commands in line wait without being asked to. */
export async function refuseWhileFrozen(watch: FreezeWatch): Promise<void> {
  const freeze = await watch.read();
  if (freeze === undefined) return;
  throw new Problem('frozen', {
    detail: `Commands of this account are held since ${freeze.changed_at}: ${sentenceOf(freeze.reason)} Nothing was sent. Send it with "Prefer: respond-async" to have it wait.`,
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    provesNoWork: true,
  });
}

/**
 * A repetition waits for its pause and its permit, and no command leaves after a freeze was answered. When the table does
 * not say whether there is one, the refusal that is there is the answer.
 */
export function unlessFrozen(
  watch: FreezeWatch,
  mayRepeat: NonNullable<Waiting['mayRepeat']>,
): NonNullable<Waiting['mayRepeat']> {
  const mayLeave = () =>
    watch.read().then(
      (freeze) => freeze === undefined,
      () => false,
    );
  return async (restMs) => (await mayRepeat(restMs)) && (await mayLeave());
}

/** Ends a reason that a person wrote without a full stop. */
function sentenceOf(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

/** Resolves when no process sends a command any more that it takes on from now on, however lately it looked. */
export async function freezeAccount(
  { store, freeze }: Pick<AccountQueue, 'store' | 'freeze'>,
  { reason, client_id }: Pick<AccountFreeze, 'reason' | 'client_id'>,
  clock: Clock,
): Promise<void> {
  await store.writeFreeze({ is_frozen: true, reason, client_id });
  freeze.forget();
  await clock.sleep(UNFROZEN_MS);
}

/** More lines than this go on with the next sweep, within a minute. */
const WOKEN_LINES_MAX = 1_000;

export async function liftFreeze(
  { store }: AccountQueue,
  wakes: Wakes,
  {
    account_id,
    client_id,
    newId,
  }: {
    readonly account_id: string;
    readonly client_id: string;
    readonly newId: () => string;
  },
): Promise<void> {
  await store.writeFreeze({ is_frozen: false, reason: '', client_id });
  const projectIds = await store.findLines(WOKEN_LINES_MAX);
  const woken = projectIds.map((project_id) => ({ account_id, project_id, id: newId() }));
  if (woken.length > 0) await wakes.send(woken);
}

export interface FreezeWatch {
  /** Resolves to undefined when the account was not frozen `UNFROZEN_MS` ago or later. Rejects when the table does. */
  read(): Promise<AccountFreeze | undefined>;
  /** The next call reads the table, because this process has frozen the account. */
  forget(): void;
}

/**
 * An account that was not frozen is taken as not frozen for this time. Commands that follow each other, as those of a
 * deployment do, then wait for one read together. The call that freezes an account waits for the same time before it
 * answers, so that no command leaves after its answer.
 */
export const UNFROZEN_MS = 500;

export function createFreezeWatch(store: QueueStore, clock: Clock): FreezeWatch {
  let unfrozenAtMs = Number.NEGATIVE_INFINITY;
  let readCount = 0;
  return {
    async read() {
      // The clock of a machine can be set back, so an age below 0 counts for nothing either.
      const askedAtMs = clock.now();
      const ageMs = askedAtMs - unfrozenAtMs;
      if (ageMs >= 0 && ageMs < UNFROZEN_MS) return undefined;
      const place = ++readCount;
      const freeze = await store.readFreeze();
      // A freeze is read anew each time, so that it ends for callers when it is lifted. A read that began before `forget` counts for nothing.
      if (place === readCount) unfrozenAtMs = freeze === undefined ? askedAtMs : Number.NEGATIVE_INFINITY;
      return freeze;
    },
    forget() {
      readCount += 1;
      unfrozenAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}
