/** Makes a request to a route out of what a person does on a page of the console, or with a button on Slack. */

import type { RawRequest } from './read-request.ts';

interface PersonRequest {
  readonly ids: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The request has ids, and no query. */
export function rawRequestOf({ ids, idempotencyKey, body }: PersonRequest): RawRequest {
  const headers = new Headers({
    prefer: 'wait=5',
    ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
  });
  const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
  return { ids, query: new URLSearchParams(), headers, body: async () => bytes };
}
