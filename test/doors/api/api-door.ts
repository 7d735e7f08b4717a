/** Drives the API and the worker of queued commands over one table, as callers, queue and schedule do, on a virtual clock. */

import { projectKey } from '../../../shared/store/keys.ts';
import {
  ACCOUNT_ID,
  type ApiOptions,
  createApiUnderTest,
  type TokenOptions,
} from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { createUpstreamDouble, type Sent } from '../../api/upstream-double.ts';
import { NOON_MS } from '../../builders.ts';
import type { Workers } from '../second-edition.ts';

/** The answer of the API to one request. */
interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

export type Ask = (
  method: string,
  path: string,
  headers?: Record<string, string>,
  body?: object,
) => Promise<Answered>;

/** Opens the door. `answer` is what the upstream answers to each request that reaches it. */
export async function openApi(
  answer: (sent: Sent) => Response | Promise<Response>,
  options: Partial<ApiOptions> = {},
) {
  let nowMs = NOON_MS;
  const upstream = createUpstreamDouble(answer);
  const clock = {
    now: () => nowMs,
    sleep: (durationMs: number) =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          nowMs += durationMs;
          resolve();
        }),
      ),
  };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
    ...options,
  });
  const as = async (token: TokenOptions = {}): Promise<Ask> => {
    const authorization = `Bearer ${await api.issueToken({ validForMs: 86_400_000, ...token })}`;
    return async (method, path, headers = {}, body) => {
      const typed = body && { 'content-type': 'application/json' };
      const init = { method, headers: { authorization, ...typed, ...headers } };
      const response = await api.app.request(path, { ...init, ...(body && { body: JSON.stringify(body) }) });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    };
  };
  let messageCount = 0;
  return {
    api,
    upstream,
    as,
    ask: await as(),
    /** The bridge has a record of this project, so it does not ask the upstream whether there is one. */
    know: (projectId: string) =>
      api.memory.sync.update({ key: projectKey(ACCOUNT_ID, projectId), set: { kind: 'project' } }),
    /** The queue hands out a message for the project of the tests, to the worker of today or to another version of it. */
    work: (version?: Workers) => {
      const messageId = `message-${++messageCount}`;
      const body = JSON.stringify({ account_id: ACCOUNT_ID, project_id: PROJECT_ID });
      const attributes = { ApproximateReceiveCount: '1' };
      const event = { Records: [{ messageId, receiptHandle: messageId, body, attributes }] };
      return api.invokeWorker(event, version);
    },
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    /** Returns what was published of this type, oldest first. */
    publishedOf: (type: string): readonly Record<string, unknown>[] =>
      api.published.filter(({ detailType }) => detailType === type).map(({ detail }) => JSON.parse(detail)),
  };
}
