/**
 * Deals with the events of `listen`: shows each in the terminal or as JSON, and posts it to a URL, signed by Standard
 * Webhooks with a kept secret, and repeated until it is accepted.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { CLOUD_EVENT_MEDIA_TYPE, type CloudEvent, cloudEventOf } from '../../shared/events/render-event.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { eventLine, paint } from '../local/event-lines.ts';
import { parseInteger, UsageError } from '../process/command.ts';
import { codeOf, writePrivateFile } from '../process/operating-system.ts';
import { type Environment, type Surroundings, stateFolder, within } from '../process/surroundings.ts';
import { readSettings } from './connection.ts';
import { type EventEnvelope, envelopeOf, type FeedEvent } from './feed.ts';

export interface TargetValues {
  readonly forward?: string;
  readonly attempts: string;
  readonly json?: true;
  readonly format?: string;
}

export interface EventTarget {
  /** Resolves to false when the signal aborted before the event was dealt with. */
  readonly handle: (event: FeedEvent) => Promise<boolean>;
  readonly givenUpCount: () => number;
}

/** Shows each event, and forwards it if a URL is given. Throws `UsageError` when the URL or the secret cannot be used. */
export function createEventTarget(values: TargetValues, surroundings: Surroundings): EventTarget {
  const { print, signal } = surroundings;
  const { format = 'eventbridge' } = values;
  if (!(format in FORMS))
    throw new UsageError(`--format is "${format}"; it takes ${Object.keys(FORMS).join(' or ')}.`);
  const formOf = FORMS[format as keyof typeof FORMS];
  let givenUpCount = 0;
  const show = (event: FeedEvent) => print(lineOf(event, values, { ...surroundings, formOf }));
  if (values.forward === undefined)
    return {
      handle: async (event) => {
        show(event);
        // A reader that has closed the pipe is noticed in the next turn of the loop, and aborts the signal.
        await turn();
        return !signal.aborted;
      },
      givenUpCount: () => 0,
    };
  const forward = forwarderTo(values.forward, values, { ...surroundings, formOf });
  return {
    async handle(event) {
      show(event);
      const outcome = await forward(event);
      if (outcome === 'given_up') givenUpCount += 1;
      return outcome !== 'stopped';
    },
    givenUpCount: () => givenUpCount,
  };
}

/** What is printed as JSON and forwarded, by the value of `--format`. */
const FORMS = {
  eventbridge: (event: EventEnvelope) => event,
  cloudevents: cloudEventOf,
} as const satisfies Record<string, (event: EventEnvelope) => EventEnvelope | CloudEvent>;

type Forming = Surroundings & { readonly formOf: (typeof FORMS)[keyof typeof FORMS] };

function lineOf(event: FeedEvent, { json, format }: TargetValues, { isColoured, formOf }: Forming): string {
  const envelope = envelopeOf(event);
  return json || format !== undefined
    ? JSON.stringify(formOf(envelope))
    : eventLine(envelope, { isColoured });
}

function forwarderTo(url: string, { attempts }: TargetValues, surroundings: Forming) {
  const { environment, clock, signal, note, isColoured, formOf } = surroundings;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageError(`--forward is "${url}"; it takes a URL such as http://127.0.0.1:3000/hook.`);
  const attemptsMax = parseInteger('attempts', attempts, { min: 1, max: 1_000 });
  const { secret } = signingSecret(environment);
  let isAway = false;
  return (event: FeedEvent) =>
    forwardEvent(formOf(envelopeOf(event)), {
      url,
      secret,
      attemptsMax,
      clock,
      signal,
      onAttempt(attempt, next) {
        const answer =
          attempt.kind === 'answered'
            ? `${attempt.status} in ${Math.round(attempt.durationMs)} ms`
            : `no answer (${attempt.reason})`;
        const colour = next.kind === 'accepted' ? 'green' : 'red';
        // A server that is away would fill the screen with the same line.
        if (next.kind !== 'repeat' || !isAway)
          note(`  ${paint(colour, `-> ${answer}`, { isColoured })}${sequelOf(next.kind)}  ${event.id}`);
        isAway = next.kind === 'repeat' && attempt.kind === 'unanswered';
      },
    });
}

function sequelOf(step: 'accepted' | 'given_up' | 'repeat'): string {
  if (step === 'accepted') return '';
  return step === 'repeat' ? ', it is sent again' : ', it is not sent again';
}

/** What became of one attempt. */
export type Attempt =
  | { readonly kind: 'answered'; readonly status: number; readonly durationMs: number }
  | { readonly kind: 'unanswered'; readonly reason: string };

type NextStep =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'given_up' }
  | { readonly kind: 'repeat'; readonly pauseMs: number };

export interface Forwarding {
  readonly url: string;
  /** `whsec_` and the key in base64. */
  readonly secret: string;
  /** An event that is answered with an error this often is given up. */
  readonly attemptsMax: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is called after each attempt. */
  readonly onAttempt: (attempt: Attempt, next: NextStep) => void;
}

/** Resolves once the event was accepted or given up, or when the signal aborts. */
async function forwardEvent(
  event: EventEnvelope | CloudEvent,
  forwarding: Forwarding,
): Promise<'accepted' | 'given_up' | 'stopped'> {
  const { attemptsMax, clock, signal, onAttempt } = forwarding;
  for (let attempts = 1, refusals = 0; ; attempts++) {
    const attempt = await postEvent(event, forwarding);
    if (signal.aborted) return 'stopped';
    if (isRefusal(attempt)) refusals += 1;
    const next = decideNextStep(attempt, { attempts, refusals, attemptsMax });
    onAttempt(attempt, next);
    if (next.kind !== 'repeat') return next.kind;
    await clock.sleep(next.pauseMs, signal).catch(() => {});
    if (signal.aborted) return 'stopped';
  }
}

const PAUSE_MS_MIN = 500;

/** A developer who has restarted the server does not want to wait long for the next attempt. */
const PAUSE_MS_MAX = 10_000;

/**
 * A server that cannot be reached is waited for without an end, because it is being restarted or deployed. An event
 * that the server itself refuses is given up after some attempts, so that it does not stop those behind it.
 */
function decideNextStep(
  attempt: Attempt,
  counts: { readonly attempts: number; readonly refusals: number; readonly attemptsMax: number },
): NextStep {
  if (attempt.kind === 'answered' && attempt.status >= 200 && attempt.status <= 299)
    return { kind: 'accepted' };
  if (isRefusal(attempt) && counts.refusals >= counts.attemptsMax) return { kind: 'given_up' };
  return { kind: 'repeat', pauseMs: Math.min(PAUSE_MS_MIN * 2 ** (counts.attempts - 1), PAUSE_MS_MAX) };
}

/** Proxies answer with these statuses while the server behind them is away or busy. */
const NOT_THERE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

function isRefusal(attempt: Attempt): boolean {
  return attempt.kind === 'answered' && attempt.status > 299 && !NOT_THERE.has(attempt.status);
}

/** Standard Webhooks recommends 15 to 30 seconds. */
const ANSWER_MS_MAX = 30_000;

/** Sends the event once. Never rejects. */
export async function postEvent(
  event: EventEnvelope | CloudEvent,
  { url, secret, clock, signal }: Pick<Forwarding, 'url' | 'secret' | 'clock' | 'signal'>,
): Promise<Attempt> {
  const body = JSON.stringify(event);
  const sentAt = new Date(clock.now());
  try {
    const status = await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'specversion' in event ? CLOUD_EVENT_MEDIA_TYPE : 'application/json',
          'webhook-id': event.id,
          'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
          'webhook-signature': new Webhook(secret).sign(event.id, sentAt, body),
        },
        body,
        signal: inTime,
      });
      await response.body?.cancel();
      return response.status;
    });
    return { kind: 'answered', status, durationMs: clock.now() - sentAt.getTime() };
  } catch (thrown) {
    return { kind: 'unanswered', reason: reasonOf(toError(thrown)) };
  }
}

/** `fetch` hides the reason of a failed connection in the cause of its error. */
function reasonOf(error: Error): string {
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

export const SIGNING_VARIABLE = 'OPERATIONS_BRIDGE_SIGNING_SECRET';

/** Standard Webhooks asks for 24 to 64 bytes. */
const KEY_BYTES = 24;

interface SigningSecret {
  /** The receiver needs the same text: `whsec_` and the key in base64. */
  readonly secret: string;
  /** Names where a person has put it. It is absent when it was made here. */
  readonly givenIn?: string;
}

/** Throws `UsageError` for a secret of another form. */
export function signingSecret(environment: Environment): SigningSecret {
  const variable = environment[SIGNING_VARIABLE];
  if (variable !== undefined) return { secret: checked(variable), givenIn: SIGNING_VARIABLE };
  const setting = readSettings(environment).signing_secret;
  if (setting !== undefined) return { secret: checked(setting), givenIn: '"signing_secret" of config.json' };
  return { secret: keptSecret(environment) };
}

function keptSecret(environment: Environment): string {
  const file = join(stateFolder(environment), 'signing-secret');
  try {
    return checked(readFileSync(file, 'utf8').trim());
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const secret = `whsec_${randomBytes(KEY_BYTES).toString('base64')}`;
  writePrivateFile(file, secret);
  return secret;
}

/** The error does not repeat the text, which is a secret. */
function checked(secret: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(secret)) return secret;
  throw new UsageError(
    `The signing secret (${SIGNING_VARIABLE}) does not have the form of Standard Webhooks: whsec_ and 24 to 64 bytes in base64.`,
  );
}
