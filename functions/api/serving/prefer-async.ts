/** Which requests are answered before they are sent (`Prefer: respond-async`, RFC 7240, 4.1), and what their headers say. */

import { idNamesOf } from '../../../shared/upstream/calls/ids.ts';
import { isReadyAwaited, namedWaitMs, preferredWaitMs, WAIT_MS_MAX } from './prefer-wait.ts';
import { invalid } from './problem.ts';
import type { ApiRequest, Route } from './route.ts';

/**
 * A command that is about one project waits in the line of that project. A preference may be ignored (RFC 7240, 2), so
 * reads and calls that reach beyond one project are answered as usual.
 */
export function isQueued(
  call: Pick<Route, 'method' | 'path' | 'reach'>,
  prefer: string | null | undefined,
): boolean {
  return mayWaitInLine(call) && preferencesIn(prefer).includes('respond-async');
}

/** Returns whether the call is a command about one project, whose line it can wait in. */
export function mayWaitInLine({ method, path, reach }: Pick<Route, 'method' | 'path' | 'reach'>): boolean {
  if (method === 'GET' || reach === undefined) return false;
  return reach === 'named_project' || idNamesOf(path).includes('project_id');
}

/** How long the caller of such a request waits for its end, in milliseconds. Without `wait` the answer comes at once. */
export function asyncWaitMs(prefer: string | undefined): number {
  if (isReadyAwaited(prefer)) return namedWaitMs(prefer) ?? WAIT_MS_MAX;
  const hasWait = preferencesIn(prefer).some((preference) => /^wait\b/.test(preference));
  return hasWait ? preferredWaitMs(prefer) : 0;
}

function preferencesIn(prefer: string | null | undefined): readonly string[] {
  return (prefer ?? '').split(/[,;]/).map((part) => part.trim().toLowerCase());
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

/** Version 00 of W3C Trace Context; a trace of zeros is not valid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A header of another form is ignored, as the recommendation says. */
export function traceparentOf({ traceparent = '' }: ApiRequest['headers']): string | undefined {
  return TRACEPARENT.test(traceparent) ? traceparent : undefined;
}
