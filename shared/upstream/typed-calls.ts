/** The upstream over HTTP: one typed function per call of the table. */

import { callUpstream, type LooseRequest } from './call-upstream.ts';
import { type AnswerOf, type CallId, calls, type RequestOf } from './calls/calls.ts';
import { depsOf, type UpstreamClientOptions } from './client.ts';
import type { CallOptions } from './upstream-client.ts';

/**
 * One function per call. Secrets of a body may be given as `Secret`, and those of an answer come as `Secret`. Times are
 * ISO 8601, sizes compute units, time-outs seconds. Every function rejects with `UpstreamError`, whose `kind` says what
 * can be done about it; beside the refusals of its own a call meets 401, 429 and 5xx. What has no kind is a bug.
 */
export type UpstreamCalls = {
  readonly [Id in keyof typeof calls]: (
    request: RequestOf<(typeof calls)[Id]>,
    options?: CallOptions,
  ) => Promise<AnswerOf<(typeof calls)[Id]>>;
};

export function createUpstreamCalls(options: UpstreamClientOptions): UpstreamCalls {
  const deps = depsOf(options);
  const functions = (Object.keys(calls) as CallId[]).map((id) => {
    const call = async (request: LooseRequest, callOptions?: CallOptions) =>
      (await callUpstream(deps, calls[id], request, callOptions)).body;
    return [id, call];
  });
  return Object.fromEntries(functions) as UpstreamCalls;
}
