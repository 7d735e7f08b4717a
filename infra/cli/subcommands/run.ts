/**
 * `operations-bridge run` sends a call through the bridge, repeats it under the same Idempotency-Key when no answer
 * came, and waits for its end if asked to.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { provesNoWork } from '../../../shared/rates/retry-decision.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import { EXIT_CODES, parseDuration, UsageError } from '../../process/command.ts';
import { isSystemError, reasonOf } from '../../process/operating-system.ts';
import { type Surroundings, within } from '../../process/surroundings.ts';
import {
  type BridgeAnswer,
  type BridgeClient,
  BridgeSilence,
  createBridgeClient,
  notAsABridge,
} from '../bridge-client.ts';
import type { FindConnection } from '../connection.ts';
import { chosenBy, refuseQuery } from '../json-query.ts';
import { readPages } from '../pages.ts';
import { type Asked, asking } from './subcommand.ts';
import {
  askForQueued,
  askForSent,
  exitCodeOf,
  LAST_ANSWER_MS,
  OUTCOME_CODES,
  type Outcome,
  sentenceOf,
  waitUntil,
} from './wait.ts';

interface RunValues {
  readonly data?: string;
  readonly wait?: true;
  readonly queue?: true;
  readonly paginate?: true;
  readonly timeout: string;
  readonly idempotencyKey?: string;
  readonly query?: string;
}

export const runSubcommand = asking<RunValues>({
  usage: 'run <method> <path>',
  summary: 'Sends a call of the upstream through the bridge, and waits for its end with --wait.',
  description:
    'The path is one of the upstream, such as /projects, or one of the bridge that begins with /bridge/v1. ' +
    'The answer is printed as it is. A command is repeated under the same Idempotency-Key when no answer comes, so it is carried out once.',
  examples: [
    'operations-bridge run GET /projects --paginate',
    `operations-bridge run GET /projects --paginate --query 'projects[?starts_with(name, \`ci-\`)].id'`,
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
    ['--paginate', 'reads a list to its end, and prints its pages as one'],
    [
      '--query <expression>',
      'prints what this JMESPath expression finds in the answer, and a text without quotes',
    ],
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
    note,
  } = asked;
  const timeoutMs = parseDuration('timeout', values.timeout);
  const body = readBody(values.data);
  refuseQuery(values.query);
  if (body !== undefined && isRead({ method }))
    throw new UsageError('--data is a body, which a GET does not have; leave it out.');
  if (values.paginate && !isRead({ method }))
    throw new UsageError('--paginate reads a list; it takes the method GET.');
  const find = await asked.find();
  const startedMs = clock.now();
  const command = {
    method,
    path,
    body,
    idempotencyKey: values.idempotencyKey ?? randomUUID(),
    lineSeconds: values.queue ? Math.min(timeoutMs / 1_000, LINE_SECONDS_MAX) : undefined,
  };
  const client = createBridgeClient(find, asked);
  const answered = values.paginate
    ? await readPages(path, note, (page) =>
        sendPatiently(client, { ...command, path: page }, { ...asked, untilMs: startedMs + timeoutMs }),
      )
    : await sendCommand(client, command, asked);
  const sentAs: SentAs = answered === undefined ? { kind: 'unknown' } : readSentAs(answered, command);
  if (answered !== undefined && !isOfBridge(answered.answer))
    note(notAsABridge(find()?.url ?? 'The address'));
  noteFirst(answered?.answer, { sentAs, command }, asked);
  const leftMs = Math.max(0, timeoutMs - (clock.now() - startedMs));
  const outcome = values.wait ? await waitFor(find, sentAs, asked, leftMs) : undefined;
  report(answered?.answer, { sentAs, outcome }, asked);
}

/** Says what the answer alone does not say. */
function noteFirst(
  answer: BridgeAnswer | undefined,
  { sentAs, command }: { readonly sentAs: SentAs; readonly command: CommandToSend },
  { note }: Surroundings,
): void {
  if (answer !== undefined && answer.status > 299) note(`The bridge answered ${answer.status}.`);
  const withheldAt = answer?.headers.get('bridge-secrets-withheld');
  if (typeof withheldAt === 'string')
    note(
      `An earlier attempt was carried out, and its answer was lost. This is that answer without its secrets; ask for them with "operations-bridge run GET ${withheldAt}".`,
    );
  if (WAITS_FOR_A_PERSON.safeParse(answer?.json).success)
    note(`Without --idempotency-key ${command.idempotencyKey} the same call asks a person anew.`);
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

/** The deadline of a command in line is that of `--timeout`. The bridge looks at each line once a minute, and takes out what is late. */
const EXPIRES_WITHIN_MS = 70_000;

async function waitFor(
  find: FindConnection,
  sentAs: SentAs,
  asked: Asked<RunValues>,
  timeoutMs: number,
): Promise<Outcome | undefined> {
  if (sentAs.kind !== 'queued' && sentAs.kind !== 'running') return undefined;
  const { clock, note } = asked;
  const id = sentAs.kind === 'queued' ? sentAs.commandId : sentAs.requestId;
  const place = sentAs.kind === 'queued' ? '' : ` --project ${sentAs.projectId}`;
  const onProgress = (sentence: string) => note(`command ${id}: ${sentence}`);
  const waitAtMost = (durationMs: number) =>
    within(durationMs + LAST_ANSWER_MS, asked, (signal) => {
      const client = createBridgeClient(find, { ...asked, signal });
      const ask =
        sentAs.kind === 'queued'
          ? askForQueued(client, sentAs.commandId)
          : askForSent(client, sentAs.projectId, sentAs.requestId);
      return waitUntil({ ask, timeoutMs: durationMs, clock, signal, onProgress });
    }).catch((error: unknown) => {
      // The command was accepted, so its answer is printed even when the bridge refuses to tell its end.
      if (!(error instanceof AppError)) throw error;
      note(`${error.message} Its end can be asked for with "operations-bridge wait command ${id}${place}".`);
      return { kind: 'unknown', state: 'unknown', seen: null } satisfies Outcome;
    });
  const outcome = await waitAtMost(timeoutMs);
  if (!asked.values.queue || outcome.state !== 'queued' || asked.signal.aborted) return outcome;
  onProgress('Its deadline has passed; the bridge takes it out of the line within a minute.');
  const last = await waitAtMost(EXPIRES_WITHIN_MS);
  return last.seen === null ? outcome : last;
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
  first: BridgeAnswer | undefined,
  { sentAs, outcome }: { readonly sentAs: SentAs; readonly outcome: Outcome | undefined },
  { values: { json, query }, print, note, signal, exitWith }: Asked<RunValues>,
): void {
  const { status, text = '', json: parsed } = answerInLine(outcome, note) ?? first ?? {};
  const isChosen = query !== undefined && parsed !== undefined && status !== undefined && status <= 299;
  const shown = isChosen ? chosenBy(query, parsed, note) : (parsed ?? text);
  if (json)
    print(
      JSON.stringify({ status, outcome: outcome?.kind ?? sentAs.kind, answer: shown, end: outcome?.seen }),
    );
  else if (text !== '') print(typeof shown === 'string' ? shown : JSON.stringify(shown, null, 2));
  if (outcome !== undefined) note(sentenceOf('The command', outcome));
  const isInterrupted = outcome?.kind === 'pending' && signal.aborted;
  const code = outcome === undefined ? FIRST_CODES[sentAs.kind] : exitCodeOf(outcome);
  exitWith(isInterrupted ? EXIT_CODES.interrupted : code);
}

const answeredInLine = z.looseObject({
  answer: z.looseObject({ status: z.number(), body: z.string().optional() }),
});

/** A command in line was answered 202 first, and has the answer of the upstream at its end. */
function answerInLine(outcome: Outcome | undefined, note: (sentence: string) => void) {
  const answer = answeredInLine.safeParse(outcome?.seen).data?.answer;
  if (answer === undefined) return undefined;
  const { status, body: text } = answer;
  if (text === undefined) note(`The bridge has not kept the body of the answer ${status}.`);
  return { status, text, json: text === undefined ? undefined : parseJson(text) };
}

interface CommandToSend {
  readonly method: string;
  /** The path as the upstream has it, or one that begins with `/api/v2` or `/bridge/v1`. */
  readonly path: string;
  readonly body: string | undefined;
  /** Makes the repetition of a command safe. */
  readonly idempotencyKey: string;
  /** Lets the command wait in the line of its project for up to this many seconds. */
  readonly lineSeconds: number | undefined;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Throws `UsageError` when the method or the path cannot be sent. */
function requestOf({ method, path, body, idempotencyKey, lineSeconds }: CommandToSend) {
  const name = method.toUpperCase();
  if (!METHODS.has(name))
    throw new UsageError(`"${method}" is no method; it takes ${[...METHODS].join(', ')}.`);
  if (!path.startsWith('/') || path.startsWith('//'))
    throw new UsageError(`The path is "${path}"; it takes one such as /projects/icy-hat-70322459/branches.`);
  const isComplete = path.startsWith('/api/v2/') || path.startsWith('/bridge/v1/');
  return {
    method: name,
    path: isComplete ? path : `/api/v2${path}`,
    headers: {
      ...(name !== 'GET' && { 'idempotency-key': idempotencyKey }),
      ...(lineSeconds !== undefined && {
        prefer: 'respond-async',
        'bridge-deadline': String(lineSeconds),
      }),
    },
    ...(body !== undefined && { body }),
  };
}

/** Three repetitions reach past a restart of the bridge. The same key makes sure that the command is carried out once. */
const ATTEMPTS_MAX = 4;
const PAUSE_MS = 1_000;

const WAITS_FOR_A_PERSON = z.looseObject({ type: z.string().endsWith(':approval-required') });

const IN_PROGRESS = z.looseObject({ type: z.string().endsWith('in-progress') });

interface Answered {
  readonly answer: BridgeAnswer;
  /** An earlier attempt may have reached the bridge, and its answer was lost. */
  readonly wasLost: boolean;
}

/** Resolves to undefined when no attempt was answered and one may have arrived. Rejects with `BridgeSilence` when none can have. */
async function sendCommand(
  client: BridgeClient,
  command: CommandToSend,
  { clock, signal, note }: Surroundings,
): Promise<Answered | undefined> {
  const request = requestOf(command);
  let wasLost = false;
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await client.send(request);
      if (attempt === ATTEMPTS_MAX || !IN_PROGRESS.safeParse(answer.json).success) return { answer, wasLost };
    } catch (error) {
      if (!(error instanceof BridgeSilence)) throw error;
      wasLost ||= error.mayHaveArrived && !isRead(command);
      if (attempt === ATTEMPTS_MAX && !wasLost) throw error;
      if (attempt === ATTEMPTS_MAX) {
        note(error.message);
        return undefined;
      }
    }
    await clock.sleep(PAUSE_MS * attempt, signal);
  }
}

/** A page that comes too soon for the rate limit is asked for again when the bridge says, as long as there is time. */
async function sendPatiently(
  client: BridgeClient,
  command: CommandToSend,
  { untilMs, ...asked }: Surroundings & { readonly untilMs: number },
): Promise<Answered | undefined> {
  for (;;) {
    const answered = await sendCommand(client, command, asked);
    const pauseMs = Math.max(PAUSE_MS, 1_000 * Number(answered?.answer.headers.get('retry-after') ?? 0));
    if (answered?.answer.status !== 429 || asked.clock.now() + pauseMs > untilMs) return answered;
    asked.note(`The rate limit is reached; the next page follows in ${Math.ceil(pauseMs / 1_000)} s.`);
    await asked.clock.sleep(pauseMs, asked.signal);
  }
}

/** A read changes nothing, so that it is never unknown what it did. */
function isRead({ method }: Pick<CommandToSend, 'method'>): boolean {
  return method.toUpperCase() === 'GET';
}

type SentAs =
  | { readonly kind: 'refused' }
  /** A read that was not answered as it should be. */
  | { readonly kind: 'failed' }
  /** No answer of the upstream is known, so the command may have been carried out. */
  | { readonly kind: 'unknown' }
  /** There is nothing to wait for. */
  | { readonly kind: 'done' }
  | { readonly kind: 'queued'; readonly commandId: string }
  | { readonly kind: 'running'; readonly projectId: string; readonly requestId: string };

const started = z.looseObject({
  operations: z.array(z.looseObject({ project_id: z.string() })).min(1),
});

/** `bridge-command` names a command that is in line, or was: a repetition under its key gets its answer. */
const IN_LINE = /^\/bridge\/v1\/commands\/([\w-]+)$/;

const problem = z.looseObject({ type: z.templateLiteral(['urn:operations-bridge:problem:', z.string()]) });

/** The first request under the key was carried out. The problem names it, and what it has started. */
const carriedOut = z.looseObject({
  type: z.string().endsWith(':secret-already-issued'),
  first_request_id: z.string().optional(),
  project_id: z.string().optional(),
  operation_ids: z.array(z.string()).optional(),
});

/** The first request under the key has no answer, or not yet. */
const undecided = z.looseObject({ type: z.string().regex(/:(outcome-unknown|in-progress)$/) });

/** Decides from the answer what there is to wait for. */
function readSentAs({ answer, wasLost }: Answered, command: Pick<CommandToSend, 'method'>): SentAs {
  const { status, headers, json } = answer;
  const first = carriedOut.safeParse(json).data;
  if (first !== undefined) return sentFirst(first);
  if (status > 299) return { kind: isRead(command) ? readKind(status) : refusalKind(answer, wasLost) };
  if (!isOfBridge(answer)) return { kind: isRead(command) ? 'failed' : 'unknown' };
  const commandId = IN_LINE.exec(headers.get('bridge-command') ?? '')?.[1];
  if (commandId !== undefined) return { kind: 'queued', commandId };
  const [operation] = started.safeParse(json).data?.operations ?? [];
  const requestId = headers.get('bridge-first-request-id') ?? headers.get('bridge-request-id');
  if (operation === undefined || requestId === null) return { kind: 'done' };
  return { kind: 'running', projectId: operation.project_id, requestId };
}

/** The bridge gives each request an id. Its errors are judged by their documents, as far as they have any. */
function isOfBridge({ status, headers }: BridgeAnswer): boolean {
  return status > 299 || headers.has('bridge-request-id');
}

function sentFirst({
  first_request_id: requestId,
  project_id: projectId,
  operation_ids = [],
}: z.output<typeof carriedOut>): SentAs {
  if (requestId === undefined || projectId === undefined || operation_ids.length === 0)
    return { kind: 'done' };
  return { kind: 'running', projectId, requestId };
}

function readKind(status: number): 'refused' | 'failed' {
  return status >= 500 && !provesNoWork(status) ? 'failed' : 'refused';
}

/**
 * The bridge looks at some things, such as a freeze, before it looks at the key. After a lost answer its own refusal says
 * nothing of the attempt before. The upstream is asked only under a key that is free, so its refusal says that nothing was done.
 */
function refusalKind({ status, json }: BridgeAnswer, wasLost: boolean): 'refused' | 'unknown' {
  if (undecided.safeParse(json).success) return 'unknown';
  if (status < 400) return wasLost ? 'unknown' : 'refused';
  if (problem.safeParse(json).success)
    return wasLost || (status >= 500 && status !== 503) ? 'unknown' : 'refused';
  return provesNoWork(status) ? 'refused' : 'unknown';
}
