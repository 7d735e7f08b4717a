/**
 * Sends requests of the subcommands to the bridge, which nothing else does, and follows work that the poller does
 * because a caller asked for it, to its end.
 */

import * as z from 'zod';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError, toError } from '../../shared/runtime/errors.ts';
import { oneLine } from '../../shared/runtime/foreign-text.ts';
import { UsageError } from '../process/command.ts';
import { type Surroundings, within } from '../process/surroundings.ts';
import type { Connection, FindConnection } from './connection.ts';

export interface BridgeRequest {
  readonly method: string;
  /** The path begins with `/bridge/v1` or `/api/v2`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON document as text. */
  readonly body?: string;
}

export interface BridgeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed text, and undefined when it is no JSON. */
  readonly json: unknown;
}

export interface BridgeClient {
  /** Rejects with `BridgeSilence` when there was no answer, and with the reason of the signal when it aborts. */
  send(request: BridgeRequest): Promise<BridgeAnswer>;
  /** Resolves to the body of a 2xx answer. Rejects with `BridgeRefusal` for any other answer. */
  read<Body extends z.ZodType>(request: BridgeRequest, body: Body): Promise<z.output<Body>>;
}

/** A long poll takes up to 25 seconds, and API Gateway gives up after 30. */
const ANSWER_MS_MAX = 35_000;

/** Says that the bridge gave no answer, so the same request may be sent again if it only reads. */
export class BridgeSilence extends AppError {
  constructor(sentence: string, cause?: unknown) {
    super('bridge_silent', sentence, { cause });
    this.name = 'BridgeSilence';
  }

  /** False when there was no connection, or no encrypted one, so that the bridge cannot have seen the request. */
  get mayHaveArrived(): boolean {
    const code = String(codeOfCause(this.cause));
    return !NOT_CONNECTED.has(code) && !NOT_ENCRYPTED.test(code);
  }
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** What Node calls a handshake or a certificate that failed. A record that breaks may be one behind the handshake. */
const NOT_ENCRYPTED =
  /^(?:EPROTO$|ERR_TLS_|ERR_SSL_(?!.*BAD_RECORD_MAC)|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/;

/** Says that no bridge is set or runs on this machine, which costs no request to find out. */
export class BridgeAbsence extends BridgeSilence {
  override get mayHaveArrived(): boolean {
    return false;
  }
}

/** Says that the bridge answered with an error. */
export class BridgeRefusal extends AppError {
  readonly status: number;
  readonly answer: BridgeAnswer;
  /** Without --data, a bridge on this machine has another token after each start. */
  readonly isLocalRun: boolean;

  constructor({ url, isLocalRun }: Pick<Connection, 'url' | 'isLocalRun'>, answer: BridgeAnswer) {
    super('bridge_refused', sentenceOf(url, answer));
    this.name = 'BridgeRefusal';
    this.isLocalRun = isLocalRun;
    this.status = answer.status;
    this.answer = answer;
  }
}

/** The same question may be answered in a while. */
export function isPassing(error: unknown): error is BridgeSilence | BridgeRefusal {
  if (error instanceof BridgeRefusal) return error.status === 429 || error.status >= 500;
  return error instanceof BridgeSilence;
}

/** A bridge that says when to come back is obeyed, up to a minute. */
const ASKED_PAUSE_MS_MAX = 60_000;

/** Returns for how long the bridge has asked not to be asked (Retry-After), and 0 when it has not said so in seconds. */
export function askedPauseMs(error: BridgeSilence | BridgeRefusal): number {
  const seconds = error instanceof BridgeRefusal ? Number(error.answer.headers.get('retry-after')) : 0;
  return seconds > 0 ? Math.min(seconds * 1_000, ASKED_PAUSE_MS_MAX) : 0;
}

const NO_BRIDGE =
  'No bridge runs on this machine, and no address is set. Run "operations-bridge start", or set OPERATIONS_BRIDGE_URL and OPERATIONS_BRIDGE_TOKEN.';

export function createBridgeClient(find: FindConnection, surroundings: Surroundings): BridgeClient {
  const connect = (): Connection => {
    const connection = find();
    if (connection === undefined) throw new BridgeAbsence(NO_BRIDGE);
    return connection;
  };
  return {
    send: async (request) => sendTo(connect(), request, surroundings),
    async read(request, body) {
      const connection = connect();
      const answer = await sendTo(connection, request, surroundings);
      if (answer.status < 200 || answer.status > 299) throw new BridgeRefusal(connection, answer);
      const parsed = body.safeParse(answer.json);
      if (parsed.success) return parsed.data;
      throw new AppError('answer_unreadable', notAsABridge(connection.url));
    },
  };
}

export function notAsABridge(url: string): string {
  return `${url} answers, but not as a bridge does; check the address.`;
}

async function sendTo(
  { url, token }: Connection,
  { method, path, query = {}, headers = {}, body }: BridgeRequest,
  { clock, signal }: Surroundings,
): Promise<BridgeAnswer> {
  const target = new URL(`${url}${path}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) target.searchParams.set(name, String(value));
  const sent = headersOf({
    authorization: `Bearer ${token.reveal()}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  });
  try {
    return await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
      const response = await fetch(target, {
        method,
        redirect: 'manual',
        headers: sent,
        ...(body !== undefined && { body }),
        signal: inTime,
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: parseJson(text) };
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new BridgeSilence(`The bridge at ${url} does not answer (${reasonOf(error)}).`, error);
  }
}

/** Throws `UsageError`, which does not repeat the value, because it may be the token. */
function headersOf(values: Readonly<Record<string, string>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value);
    } catch {
      const what = name === 'authorization' ? 'The token' : `The value of the header ${name}`;
      throw new UsageError(`${what} has a character that no header can hold; copy it again.`);
    }
  }
  return headers;
}

const problem = z.looseObject({ detail: z.string().optional(), message: z.string().optional() });

/** The bridge's own refusals are problem documents, which say what to do; those of the upstream have a message. */
function sentenceOf(url: string, { status, json }: BridgeAnswer): string {
  const { detail, message } = problem.safeParse(json).data ?? {};
  const words = detail ?? message;
  const said = words && oneLine(words);
  const answered = `The bridge at ${url} answered ${status}`;
  if (status === 401) return `${answered}${said === undefined ? '.' : `: ${said}`} ${NEW_TOKEN}`;
  if (said !== undefined) return `${answered}: ${said}`;
  const advice = ADVICE[status];
  return advice === undefined ? answered : `${answered}; ${advice}.`;
}

const NEW_TOKEN = 'The command "operations-bridge tokens create" makes a token.';

const ADVICE: Readonly<Record<number, string>> = {
  403: 'use a token with the right for this call',
  429: 'wait, and try again',
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` hides the reason of a failed connection in the cause of its error. */
function codeOfCause(thrown: unknown): unknown {
  return (toError(thrown).cause as { readonly code?: unknown } | undefined)?.code;
}

function reasonOf(thrown: unknown): string {
  const error = toError(thrown);
  const code = codeOfCause(error);
  if (typeof code === 'string') return code;
  return error.name === 'TimeoutError' ? 'it took too long' : error.message;
}

export interface FollowDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called with a sentence on how far the work has come. */
  readonly note: (sentence: string) => void;
}

export interface Work<Standing extends { readonly state: string }> {
  readonly noun: 'repair' | 'replay';
  /** Says which one it is, such as `The repair of p-1`. */
  readonly name: string;
  readonly read: () => Promise<Standing>;
  /** Says how far the work has come. The work makes progress when this sentence changes. */
  readonly progressOf: (standing: Standing) => string;
}

const LOOK_MS = 1_000;

/** A sentence says this often that the work goes on. */
const NOTE_MS = 30_000;

/**
 * A poller begins within a minute, and a step takes seconds. A repair shows no steps, and reads some twenty thousand
 * operations a poll. After this time without progress no poller is at work, or its table or the upstream does not answer.
 */
const STANDSTILL_MS_MAX = 10 * 60_000;

/**
 * Resolves to the standing at the end. An outage of the bridge is waited for. Rejects with an `AppError` when the work
 * makes no progress for ten minutes, and with the reason of the signal when it aborts; the work goes on then.
 */
export async function followWork<Standing extends { readonly state: string }>(
  { clock, signal, note }: FollowDeps,
  { noun, name, read, progressOf }: Work<Standing>,
): Promise<Standing> {
  let noted = '';
  let notedAtMs = clock.now();
  let movedAtMs = notedAtMs;
  for (;;) {
    let pauseMs = LOOK_MS;
    const standing = await read().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      pauseMs = Math.max(LOOK_MS, askedPauseMs(error));
      note(`${error.message} The ${noun} goes on meanwhile.`);
    });
    if (standing !== undefined && standing.state !== 'in_progress') return standing;
    const progress = standing === undefined ? noted : progressOf(standing);
    if (progress !== noted) movedAtMs = clock.now();
    if (progress !== noted || clock.now() - notedAtMs >= NOTE_MS) {
      note(progress);
      noted = progress;
      notedAtMs = clock.now();
    }
    if (clock.now() - movedAtMs >= STANDSTILL_MS_MAX)
      throw new AppError(
        `${noun}_stands_still`,
        `${name} has made no progress for ten minutes. Look at the health of the poller; the ${noun} goes on once it runs.`,
      );
    await clock.sleep(pauseMs, signal);
  }
}
