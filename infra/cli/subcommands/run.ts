/** `operations-bridge run` sends a call through the bridge, and waits for its end if asked to. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { within } from '../../process/deadline.ts';
import { EXIT_CODES } from '../../process/exit-codes.ts';
import { parseDuration, UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { isSystemError, reasonOf } from '../../process/system-error.ts';
import { type BridgeAnswer, createBridgeClient } from '../connection/bridge-client.ts';
import type { FindConnection } from '../connection/find-connection.ts';
import { askForQueued, askForSent } from '../waiting/ask-bridge.ts';
import { exitCodeOf, type Outcome } from '../waiting/outcome.ts';
import { type CommandToSend, readSentAs, type SentAs, sendCommand } from '../waiting/send-command.ts';
import { LAST_ANSWER_MS, waitUntil } from '../waiting/wait-until.ts';
import { type Asked, asking } from './asking.ts';
import { OUTCOME_CODES } from './wait.ts';

interface RunValues {
  readonly data?: string;
  readonly wait?: true;
  readonly queue?: true;
  readonly timeout: string;
  readonly idempotencyKey?: string;
}

export const runSubcommand = asking<RunValues>({
  usage: 'run <method> <path>',
  summary: 'Sends a call of the upstream through the bridge, and waits for its end with --wait.',
  description:
    'The path is one of the upstream, such as /projects, or one of the bridge that begins with /bridge/v1. ' +
    'The answer is printed as it is. A command is repeated under the same Idempotency-Key when no answer comes, so it is carried out once.',
  examples: [
    'operations-bridge run GET /projects',
    `operations-bridge run POST /projects/icy-hat-70322459/branches --data '{"branch":{"name":"ci"}}' --wait`,
    'operations-bridge run POST /projects/icy-hat-70322459/endpoints/ep-early-sound-a0j8yrdr/restart --queue --wait',
  ],
  exitCodes: {
    ...OUTCOME_CODES,
    succeeded: 'the upstream accepted it; with --wait, all its operations have ended well',
    failed: 'an operation ended otherwise, or a read was not answered as it should be',
    refused: 'it was refused, so nothing was done; or see the message',
    unknown: 'it is not known whether the upstream carried it out; the message says how to find out',
  },
  options: [
    ['--data <json>', 'the body; @FILE reads it from a file'],
    ['--wait', 'waits until every operation that it started has ended'],
    ['--queue', 'lets it wait in the line of its project instead of being refused by a lock (423)'],
    ['--timeout <d>', 'waits at most this long, in line as well', '10m'],
    ['--idempotency-key <key>', 'carries out one command under this key in 24 hours (default: a new key)'],
    ['--json', 'prints one JSON object with the outcome and the answer'],
  ],
  act: run,
});

async function run(asked: Asked<RunValues>): Promise<void> {
  const {
    args: [method = '', path = ''],
    values,
    clock,
  } = asked;
  const timeoutMs = parseDuration('timeout', values.timeout);
  const body = readBody(values.data);
  const find = await asked.find();
  const startedMs = clock.now();
  const command = {
    method,
    path,
    body,
    idempotencyKey: values.idempotencyKey ?? randomUUID(),
    lineSeconds: values.queue ? Math.min(timeoutMs / 1_000, LINE_SECONDS_MAX) : undefined,
  };
  const answered = await sendCommand(createBridgeClient(find, asked), command, asked);
  const sentAs: SentAs = answered === undefined ? { kind: 'unknown' } : readSentAs(answered, command);
  noteFirst(answered?.answer, { sentAs, command }, asked);
  const leftMs = Math.max(0, timeoutMs - (clock.now() - startedMs));
  const outcome = values.wait
    ? await within(leftMs + LAST_ANSWER_MS, asked, (signal) =>
        waitFor(find, sentAs, { ...asked, signal, timeoutMs: leftMs }),
      )
    : undefined;
  report(answered?.answer, { sentAs, outcome }, asked);
}

/** Says what the answer alone does not say. */
function noteFirst(
  answer: BridgeAnswer | undefined,
  { sentAs, command }: { readonly sentAs: SentAs; readonly command: CommandToSend },
  { note }: Surroundings,
): void {
  if (answer === undefined) note('The bridge gave no answer.');
  else if (answer.status > 299) note(`The bridge answered ${answer.status}.`);
  const withheldAt = answer?.headers.get('bridge-secrets-withheld');
  if (typeof withheldAt === 'string')
    note(
      `An earlier attempt was carried out, and its answer was lost. This is that answer without its secrets; ask for them with "operations-bridge run GET ${withheldAt}".`,
    );
  if (sentAs.kind === 'unknown')
    note(
      `It is not known whether the command was carried out. Look at what it should have changed, or ask again with --idempotency-key ${command.idempotencyKey}: under this key it is carried out once.`,
    );
}

/** The bridge keeps a command in line for at most a day. */
const LINE_SECONDS_MAX = 86_400;

function readBody(data: string | undefined): string | undefined {
  if (data === undefined) return undefined;
  const text = data.startsWith('@') ? readBodyFile(data.slice(1)) : data;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new UsageError(`--data is no JSON; it takes a JSON object, or @ and the name of a file with one.`);
  }
}

function readBodyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(`The file "${file}" of --data cannot be read (${reasonOf(error)}).`, {
      cause: error,
    });
  }
}

async function waitFor(
  find: FindConnection,
  sentAs: SentAs,
  surroundings: Surroundings & { readonly timeoutMs: number },
): Promise<Outcome | undefined> {
  if (sentAs.kind !== 'queued' && sentAs.kind !== 'running') return undefined;
  const { clock, signal, note, timeoutMs } = surroundings;
  const client = createBridgeClient(find, surroundings);
  const ask =
    sentAs.kind === 'queued'
      ? askForQueued(client, sentAs.commandId)
      : askForSent(client, sentAs.projectId, sentAs.requestId);
  const id = sentAs.kind === 'queued' ? sentAs.commandId : sentAs.requestId;
  const onProgress = (sentence: string) => note(`command ${id}: ${sentence}`);
  return waitUntil({ ask, timeoutMs, clock, signal, onProgress });
}

const FIRST_CODES = {
  refused: EXIT_CODES.refused,
  failed: EXIT_CODES.failed,
  unknown: EXIT_CODES.unknown,
  done: EXIT_CODES.succeeded,
  queued: EXIT_CODES.succeeded,
  running: EXIT_CODES.succeeded,
} as const satisfies Record<SentAs['kind'], number>;

function report(
  answer: BridgeAnswer | undefined,
  { sentAs, outcome }: { readonly sentAs: SentAs; readonly outcome: Outcome | undefined },
  { values: { json }, print, note, signal, exitWith }: Asked<unknown>,
): void {
  const { status, text = '', json: parsed } = answer ?? {};
  const shown = parsed === undefined ? text : parsed;
  if (json)
    print(
      JSON.stringify({ status, outcome: outcome?.kind ?? sentAs.kind, answer: shown, end: outcome?.seen }),
    );
  else if (text !== '') print(parsed === undefined ? text : JSON.stringify(parsed, null, 2));
  if (outcome !== undefined) note(`${outcome.kind}: ${outcome.state}`);
  const isInterrupted = outcome?.kind === 'pending' && signal.aborted;
  const code = outcome === undefined ? FIRST_CODES[sentAs.kind] : exitCodeOf(outcome);
  exitWith(isInterrupted ? EXIT_CODES.interrupted : code);
}
