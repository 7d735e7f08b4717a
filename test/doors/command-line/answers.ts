/** The words of which the scripts of this door are made: requests, and what is answered to them. */

import { type Answer, type Exchange, requestLine } from './scripted-server.ts';

type Details = Pick<Exchange, 'headers' | 'body'>;

export function asks(request: string, answer: Answer, details: Details = {}): Exchange {
  return { request: requestLine(request), answer, ...details };
}

/** The same exchange several times. */
export function times(count: number, exchange: Exchange): readonly Exchange[] {
  return Array.from({ length: count }, () => exchange);
}

/** Each answer of the bridge has the id of its request. */
const BY_THE_BRIDGE = { 'bridge-request-id': 'req-1' };

export function answers(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = BY_THE_BRIDGE,
): Answer {
  return { kind: 'answer', status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

export const ok = (body: unknown, headers?: Readonly<Record<string, string>>) => answers(200, body, headers);

/** The bridge refuses with a problem document (RFC 9457). */
export function problem(
  status: number,
  detail: string,
  { type = 'refused', headers = {} }: { type?: string; headers?: Readonly<Record<string, string>> } = {},
): Answer {
  const body = {
    type: `urn:operations-bridge:problem:${type}`,
    title: 'Refused',
    status,
    detail,
  };
  return answers(status, body, { 'content-type': 'application/problem+json', ...headers });
}

export const hangUp: Answer = { kind: 'hang-up' };
export const never: Answer = { kind: 'never' };

/** The connection ends in the middle of this answer. */
export const cut = (body: unknown): Answer => ({ kind: 'cut', body: JSON.stringify(body) });

/** A proxy answers with a page for people. */
export const page = (status: number): Answer =>
  answers(status, '<html><body>Bad Gateway</body></html>', { 'content-type': 'text/html' });

export const after = (seconds: number, answer: Answer): Answer => ({
  kind: 'late',
  ms: seconds * 1_000,
  answer,
});

export const withCtrlC = (answer: Answer): Answer => ({ kind: 'ctrl-c', answer });
