/**
 * Serves AWS over HTTP as a test scripts it: before each call the script may hold it, refuse it, leave keys unread or carry it out
 * late. Whatever is not scripted is done by the local AWS behind.
 */

import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type LocalAws, type LocalAwsOptions, startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { callOf } from '../../infra/local/aws/protocol.ts';

export interface ScriptedCall {
  /** The action has the name that IAM gives it: `dynamodb:BatchGetItem`. */
  readonly action: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Fault =
  /** No answer ever comes. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'refuse'; readonly code: string; readonly status?: number }
  /** The call is carried out this much later, also when the caller has given up meanwhile. */
  | { readonly kind: 'late'; readonly afterMs: number }
  /** BatchGetItem leaves these keys unread. */
  | { readonly kind: 'unread'; readonly isUnread: (key: DynamoDbKey) => boolean }
  | { readonly kind: 'answer'; readonly answer: (body: ScriptedCall['body']) => unknown };

interface DynamoDbKey {
  readonly pk: { readonly S: string };
  readonly sk: { readonly S: string };
}

export interface ScriptedAws {
  readonly aws: LocalAws;
  readonly calls: readonly ScriptedCall[];
  /** Is asked before each call. */
  script: (call: ScriptedCall) => Fault | undefined;
}

/**
 * The clients of this process use it from now on, until the test ends. `hold` is called when a call is held back, and what it returns
 * when the call goes on, so that virtual time passes meanwhile.
 */
export async function openScriptedAws(
  hold: () => () => void,
  options: LocalAwsOptions = {},
): Promise<ScriptedAws> {
  const aws = await startLocalAws(options);
  const calls: ScriptedCall[] = [];
  const scripted: ScriptedAws = { aws, calls, script: () => undefined };
  const server = createServer((request, response) => {
    void serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const environment = {
    ...aws.environment,
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    POWERTOOLS_DEV: 'true',
    POWERTOOLS_METRICS_DISABLED: 'false',
  };
  const before = Object.fromEntries(Object.keys(environment).map((name) => [name, process.env[name]]));
  Object.assign(process.env, environment);
  onTestFinished(async () => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    server.closeAllConnections();
    server.close();
    await aws.close();
  });
  return scripted;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const { service, operation } = callOf(request);
    const call = { action: `${service}:${operation}`, body: JSON.parse(bytes.toString() || '{}') };
    calls.push(call);
    const fault = scripted.script(call);
    switch (fault?.kind) {
      case undefined:
        return forward(request, bytes, response);
      case 'hang':
        return void response.once('close', hold());
      case 'refuse':
        return answer(response, fault.status ?? 400, {
          __type: fault.code,
          message: 'The test refuses this.',
        });
      case 'answer':
        return answer(response, 200, fault.answer(call.body));
      case 'unread':
        return leaveUnread(request, call.body, fault.isUnread, response);
      case 'late': {
        const release = hold();
        response.once('close', release);
        setTimeout(() => {
          release();
          forward(request, bytes, response);
        }, fault.afterMs);
      }
    }
  }

  function leaveUnread(
    request: IncomingMessage,
    body: ScriptedCall['body'],
    isUnread: (key: DynamoDbKey) => boolean,
    response: ServerResponse,
  ): void {
    const [[table, asked] = ['', { Keys: [] }]] = Object.entries(
      body['RequestItems'] as Record<string, { Keys: DynamoDbKey[] }>,
    );
    const unread = asked.Keys.filter(isUnread);
    const read = asked.Keys.filter((key) => !isUnread(key));
    const UnprocessedKeys = unread.length === 0 ? {} : { [table]: { ...asked, Keys: unread } };
    if (read.length === 0) {
      answer(response, 200, { Responses: {}, UnprocessedKeys });
      return;
    }
    const rest = Buffer.from(
      JSON.stringify({ ...body, RequestItems: { [table]: { ...asked, Keys: read } } }),
    );
    forward(request, rest, response, (answered) => ({ ...answered, UnprocessedKeys }));
  }

  function forward(
    { headers, url }: IncomingMessage,
    bytes: Buffer,
    response: ServerResponse,
    change?: (answer: object) => object,
  ): void {
    const asked = sendRequest(
      new URL(url ?? '/', aws.endpoint),
      { method: 'POST', headers: { ...headers, 'content-length': bytes.length } },
      (answered) => void pass(answered, response, change).catch(() => response.destroy()),
    );
    asked.on('error', () => response.destroy());
    asked.end(bytes);
  }

  async function pass(
    answered: IncomingMessage,
    response: ServerResponse,
    change: ((answer: object) => object) | undefined,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of answered as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (change !== undefined && answered.statusCode === 200) {
      answer(response, 200, change(JSON.parse(body.toString())));
      return;
    }
    const type = answered.headers['content-type'] ?? 'application/x-amz-json-1.0';
    response.writeHead(answered.statusCode ?? 500, { 'content-type': type }).end(body);
  }

  function answer(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
  }
}
