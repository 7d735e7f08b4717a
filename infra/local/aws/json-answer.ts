/** Reads the body of a call and writes its answer in the JSON protocol of AWS. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from './services/service.ts';

export interface Refusal {
  readonly type: string;
  readonly message: string;
  /** The default is 400, and 500 for InternalFailure. */
  readonly status?: number;
  /** Clients of services that once had the query protocol show this code instead of the type. */
  readonly queryCode?: string;
}

/** A hundred items of BatchWriteItem are smaller, and PutEvents is much smaller. */
const BODY_BYTES_MAX = 16_000_000;

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_BYTES_MAX) {
      throw new ServiceError('RequestEntityTooLargeException', 'The request is too large');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export async function readBody(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request);
  try {
    return JSON.parse(bytes.toString() || '{}');
  } catch {
    throw new ServiceError('SerializationException', 'The body is not JSON');
  }
}

/** Answers with JSON in every case, because the SDK cannot read anything else, not even an error. */
export function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
}

export function answerError(response: ServerResponse, refusal: Refusal): void {
  const { type, message, status, queryCode } = refusal;
  if (queryCode !== undefined) response.setHeader('x-amzn-query-error', `${queryCode};Sender`);
  const usualStatus = type === 'InternalFailure' ? 500 : 400;
  answer(response, status ?? usualStatus, { __type: type, message });
}

/** Makes the work go on as usual while its answer goes to a closed socket. */
export function loseReply(response: ServerResponse): void {
  const { socket } = response;
  response.end = ((): ServerResponse => {
    socket?.destroy();
    return response;
  }) as ServerResponse['end'];
}
