/**
 * Lets callers wait: how long they prefer to (`Prefer`, RFC 7240), the places of which each caller has a bounded
 * number because a wait occupies a process, and the long poll, which reads until a condition holds.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { PerAccount } from '../../../shared/accounts/account-directory.ts';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { HELD_PLACES_MAX } from '../../../shared/config/api-config.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { heldPlacesKey } from '../../../shared/store/keys.ts';
import type { Item, Table } from '../../../shared/store/table.ts';
import { isAboutOneProject } from '../../../shared/upstream/calls/call.ts';
import { invalid, Problem } from './problem.ts';
import type { ApiRequest, Route } from './route.ts';

/** Most locks are released within this time, because operations take a second or two. */
const WAIT_MS_DEFAULT = 5_000;

/** The whole request ends after 28 s, and a request to the upstream, which may take ten, must fit behind the wait. */
const PREFER_SECONDS_MAX = 20;
const WAIT_MS_MAX = PREFER_SECONDS_MAX * 1_000;

/** Returns milliseconds, also when the caller names no time. Throws `Problem` as `namedWaitMs` does. */
export function preferredWaitMs(prefer: string | null | undefined): number {
  return namedWaitMs(prefer) ?? WAIT_MS_DEFAULT;
}

/**
 * Returns milliseconds, and undefined when the caller names no time. Other preferences are ignored, as the RFC says.
 * Throws `Problem` when `wait` is not a whole number of seconds.
 */
export function namedWaitMs(prefer: string | null | undefined): number | undefined {
  const wait = partsOf(prefer).find((part) => /^wait\b/i.test(part) && !isReady(part));
  if (wait === undefined) return undefined;
  const seconds = /^wait\s*=\s*"?(\d{1,6})"?$/i.exec(wait)?.[1];
  if (seconds === undefined)
    throw invalid([
      { field: 'header.prefer', reason: 'wait takes whole seconds, like wait=10, or wait=ready' },
    ]);
  return Math.min(Number(seconds), PREFER_SECONDS_MAX) * 1_000;
}

/**
 * `wait=ready` says that the caller wants the answer when everything that the command has started is done: a new
 * branch can be used then.
 */
export function isReadyAwaited(prefer: string | null | undefined): boolean {
  return partsOf(prefer).some(isReady);
}

function partsOf(prefer: string | null | undefined): readonly string[] {
  // Most requests have no such header.
  return prefer ? prefer.split(/[,;]/).map((part) => part.trim()) : [];
}

function isReady(part: string): boolean {
  return /^wait\s*=\s*"?ready"?$/i.test(part);
}

/** Returns whether a command of the caller is answered when it has settled, and not when the upstream has answered it. */
export function isAnsweredAtEnd({ settles }: Caller, prefer: string | null | undefined): boolean {
  return settles === true || isReadyAwaited(prefer);
}

/**
 * A command that is about one project waits in the line of that project. A preference may be ignored (RFC 7240, 2), so
 * reads and calls that reach beyond one project are answered as usual.
 */
export function asksForLine(
  call: Pick<Route, 'method' | 'path' | 'reach'>,
  prefer: string | null | undefined,
): boolean {
  return isAboutOneProject(call) && prefersAsync(prefer);
}

export function prefersAsync(prefer: string | null | undefined): boolean {
  return partsOf(prefer).some((part) => /^respond-async$/i.test(part));
}

/** How long the caller of such a request waits for its end, in milliseconds. Without `wait` the answer comes at once. */
export function asyncWaitMs(prefer: string | undefined): number {
  return namedWaitMs(prefer) ?? (isReadyAwaited(prefer) ? WAIT_MS_MAX : 0);
}

/**
 * A command that names no deadline expires after this time in line. A deployment or a person who waits longer wants
 * to know why.
 */
const DEADLINE_SECONDS_DEFAULT = 900;

/**
 * In milliseconds from now. A command that names no deadline does not wait longer than others may. Throws `Problem` when
 * the header is not a whole number of seconds up to `secondsMax`.
 */
export function deadlineMsOf({ 'bridge-deadline': text }: ApiRequest['headers'], secondsMax: number): number {
  if (text === undefined) return Math.min(DEADLINE_SECONDS_DEFAULT, secondsMax) * 1_000;
  const seconds = Number(/^\d{1,6}$/.test(text) ? text : NaN);
  if (seconds >= 1 && seconds <= secondsMax) return seconds * 1_000;
  throw invalid([
    { field: 'header.bridge-deadline', reason: `takes whole seconds from now, from 1 to ${secondsMax}` },
  ]);
}

export interface PatientCallers {
  /**
   * Resolves to a function that ends the wait, and to undefined when the caller already has the most waits that are
   * allowed.
   */
  tryWait(caller: Caller, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
  /** Does the same, but rejects with `Problem` `rate-limited` instead of resolving to undefined. */
  wait(caller: Caller, forMs: number): Promise<() => Promise<void>>;
}

/** Usually one of the caller's waits has ended by then. */
const RETRY_AFTER_SECONDS = 5;

export function createPatientCallers(placesOf: PerAccount<HeldPlaces>, telemetry: Telemetry): PatientCallers {
  const tryWait: PatientCallers['tryWait'] = async (caller, kind, forMs) => {
    const release = await placesOf.get(caller.account_id)?.take(caller, kind, forMs);
    if (release === undefined) return undefined;
    return async () => {
      // A place that could not be given back becomes free when its time is over.
      await release().catch((error: unknown) =>
        telemetry.log('warn', 'wait.not_released', { reason: toError(error).name }),
      );
    };
  };
  return {
    tryWait,
    async wait(caller, forMs) {
      const release = await tryWait(caller, 'waits', forMs);
      if (release !== undefined) return release;
      throw new Problem('rate-limited', {
        detail:
          'This caller has as many long polls under way as it may have; wait for one of them to end, or ask without wait.',
        headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      });
    },
  };
}

export interface WaitingPlace {
  /** Resolves to false when the caller has as many commands waiting as it may have, or when the table does not answer. */
  take(): Promise<boolean>;
  /** Begins one of several waits: resolves to undefined without a place, and the end of the wait keeps the place. */
  beginWait(): Promise<(() => Promise<void>) | undefined>;
  giveBack(): Promise<void>;
}

/** The place becomes free by itself after `forMs`, in case this process dies. */
export function waitingPlace(patient: PatientCallers, caller: Caller, forMs: number): WaitingPlace {
  let release: (() => Promise<void>) | undefined;
  const take = async () => {
    release ??= await patient.tryWait(caller, 'commands', forMs).catch(() => undefined);
    return release !== undefined;
  };
  return {
    take,
    beginWait: async () => ((await take()) ? async () => {} : undefined),
    giveBack: async () => release?.(),
  };
}

interface Holder {
  readonly account_id: string;
  readonly client_id: string;
}

export interface HeldPlaces {
  /**
   * Resolves to a function that gives the place back, and to undefined when all places are taken. A place that is
   * never given back becomes free after its time.
   */
  take(holder: Holder, kind: HeldKind, forMs: number): Promise<(() => Promise<void>) | undefined>;
}

/** The two kinds are counted separately, so that a caller who waits for events can still have a command waited for. */
type HeldKind = 'waits' | 'commands';

/** At most this time passes between the end of a request and the write that gives its place back. */
const MARGIN_MS = 5_000;

/** An item is kept for this time after its last place has become free. */
const KEPT_SECONDS = 3_600;

const nameOf = (place: number) => `place_${place}`;

/** An item that holds places has these attributes. */
export const HELD_ATTRIBUTES: readonly string[] = Array.from({ length: HELD_PLACES_MAX }, (_, place) =>
  nameOf(place),
);

export function createHeldPlaces(table: Table, clock: Clock, placesMax: number): HeldPlaces {
  return {
    async take({ account_id, client_id }, kind, forMs) {
      const key = heldPlacesKey(account_id, hashOf(client_id), kind);
      // The loser of a race for one place looks for another. Each race has a winner, so there are no more rounds than
      // places.
      for (let attempt = 0; attempt <= placesMax; attempt++) {
        const nowMs = clock.now();
        const name = freePlace(await table.get(key), placesMax, nowMs);
        if (name === undefined) return undefined;
        const untilMs = nowMs + forMs + MARGIN_MS;
        const result = await table.update({
          key,
          set: {
            kind: 'held_places',
            [name]: untilMs,
            expires_at: Math.ceil(untilMs / 1_000) + KEPT_SECONDS,
          },
          condition: {
            kind: 'any',
            of: [
              { kind: 'absent', name },
              { kind: 'less', name, value: nowMs },
            ],
          },
        });
        if (result === 'applied')
          return async () => {
            const isMine = { kind: 'equals', name, value: untilMs } as const;
            await table.update({ key, set: {}, remove: [name], condition: isMine });
          };
      }
      return undefined;
    },
  };
}

function freePlace(item: Item | undefined, placesMax: number, nowMs: number): string | undefined {
  const names = Array.from({ length: placesMax }, (_, place) => nameOf(place));
  return names.find((name) => {
    const untilMs = item?.[name];
    return typeof untilMs !== 'number' || untilMs < nowMs;
  });
}

/** Hashes the client's id, so that the name of a person does not appear in a key of the table. */
function hashOf(clientId: string): string {
  return createHash('sha256').update(clientId).digest('hex').slice(0, 32);
}

/** API Gateway gives up after 30 s, and the answer must leave before. */
export const WAIT_SECONDS_MAX = 25;

/** Routes that can wait take this query parameter, in seconds. */
export const wait = z.coerce.number().int().min(0).max(WAIT_SECONDS_MAX).default(0);

/**
 * The interval grows, because each consistent read costs a unit. It stays below a second, which people feel as "at
 * once".
 */
const FIRST_INTERVAL_MS = 100;
const INTERVAL_MS_MAX = 1_000;

export interface LongPoll<T> {
  readonly read: () => Promise<T>;
  readonly isDone: (value: T) => boolean;
  /** With 0, the first read is the answer. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Is called before the first wait. The function that it resolves to is called at the end. When it resolves to
   * undefined, nothing is waited for.
   */
  readonly beginWait: () => Promise<(() => Promise<void>) | undefined>;
}

/** Resolves to what was read last, also when the signal aborts. */
export async function waitFor<T>(poll: LongPoll<T>): Promise<T> {
  const { read, isDone, waitMs, signal, beginWait } = poll;
  const value = await read();
  if (isDone(value) || waitMs <= 0 || signal.aborted) return value;
  const endWait = await beginWait();
  if (endWait === undefined) return value;
  try {
    return await waitOn(value, poll);
  } finally {
    await endWait();
  }
}

async function waitOn<T>(first: T, poll: Omit<LongPoll<T>, 'beginWait'>): Promise<T> {
  const { read, isDone, waitMs, clock, signal } = poll;
  const untilMs = clock.now() + waitMs;
  let value = first;
  for (let intervalMs = FIRST_INTERVAL_MS; ; intervalMs = Math.min(intervalMs * 1.5, INTERVAL_MS_MAX)) {
    const leftMs = untilMs - clock.now();
    if (isDone(value) || leftMs <= 0 || signal.aborted) return value;
    await clock.sleep(Math.min(intervalMs, leftMs), signal).catch(() => {});
    value = await read();
  }
}
