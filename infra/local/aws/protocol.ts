/**
 * Speaks the protocols of AWS: who calls which operation is read from the signature, JSON or a form comes in, JSON or
 * XML goes out, and things are named by ARNs, all in one region of one account.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { FOREIGN_HOST_SENTENCE, isOwnHost } from '../../process/operating-system.ts';

export type Operation = (body: unknown) => object | Promise<object>;

export type Service = ReadonlyMap<string, Operation>;

/** The answer contains the name as `__type`, which the SDK turns into an exception of that name. */
export class ServiceError extends Error {
  /** The code that the older query protocol has for this error, which clients of SQS show instead of the name. */
  readonly queryCode: string | undefined;

  constructor(type: string, message: string, queryCode?: string) {
    super(message);
    this.name = type;
    this.queryCode = queryCode;
  }
}

/**
 * Defines an operation whose body is checked first. AWS calls a member of the wrong type a SerializationException.
 */
export function defineOperation<Body extends z.ZodType>(
  body: Body,
  perform: (input: z.output<Body>) => object | Promise<object>,
): Operation {
  return (json) => {
    const { success, data, error } = body.safeParse(json);
    if (success) return perform(data);
    const [issue] = error.issues;
    throw new ServiceError('SerializationException', `${issue?.path.join('.')}: ${issue?.message}`);
  };
}

export const REGION = 'us-east-1';
export const ACCOUNT_ID = '000000000000';

export const busArn = (name: string): string => arn('events', `event-bus/${name}`);

/** The rule of the default bus has no bus in its ARN. */
export function ruleArn(busName: string, name: string): string {
  return arn('events', busName === 'default' ? `rule/${name}` : `rule/${busName}/${name}`);
}

export const queueArn = (name: string): string => arn('sqs', name);

/** Takes a name or an ARN. */
export function busNameOf(nameOrArn: string): string {
  return nameOrArn.replace(/^arn:[^:]*:events:[^:]*:[^:]*:event-bus\//, '');
}

function arn(service: string, resource: string): string {
  return `arn:aws:${service}:${REGION}:${ACCOUNT_ID}:${resource}`;
}

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

export interface XmlAnswer {
  readonly status: number;
  readonly xml: string;
}

/** The fields become elements of the result, in order. A nested record becomes nested elements. */
export interface XmlFields {
  readonly [name: string]: string | XmlFields;
}

export function xmlResult(action: string, namespace: string, result: XmlFields): XmlAnswer {
  const body = `<${action}Result>${elementsOf(result)}</${action}Result>`;
  const metadata = '<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata>';
  return {
    status: 200,
    xml: `<${action}Response xmlns="${namespace}">${body}${metadata}</${action}Response>`,
  };
}

export function xmlError(namespace: string, status: number, code: string, message: string): XmlAnswer {
  const error = elementsOf({ Type: 'Sender', Code: code, Message: message });
  const xml = `<ErrorResponse xmlns="${namespace}"><Error>${error}</Error><RequestId>local</RequestId></ErrorResponse>`;
  return { status, xml };
}

const STS = 'https://sts.amazonaws.com/doc/2011-06-15/';

/** Answers a form of STS, by which an audited act learns its caller: here it is always the root of the one account. */
export function answerSts(form: URLSearchParams): XmlAnswer {
  const action = form.get('Action') ?? '';
  if (action !== 'GetCallerIdentity')
    return xmlError(STS, 400, 'InvalidAction', `${action} is not part of the local AWS`);
  const Arn = `arn:aws:iam::${ACCOUNT_ID}:root`;
  return xmlResult(action, STS, { Arn, UserId: ACCOUNT_ID, Account: ACCOUNT_ID });
}

function elementsOf(fields: XmlFields): string {
  return Object.entries(fields)
    .map(
      ([name, value]) =>
        `<${name}>${typeof value === 'string' ? escaped(value) : elementsOf(value)}</${name}>`,
    )
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export interface LocalAwsCall {
  /** The signature's scope has this name of the service: `dynamodb`, `events` or `secretsmanager`. */
  readonly service: string;
  readonly operation: string;
}

/**
 * Refuses other programs of this machine, which do not know the access key, and web pages under foreign names. The
 * local secrets contain the keys of real accounts.
 */
export function faultOf({ headers }: IncomingMessage, accessKeyId: string): Refusal | undefined {
  if (!isOwnHost(headers.host))
    return { type: 'AccessDeniedException', message: FOREIGN_HOST_SENTENCE, status: 421 };
  const presented = /Credential=([^/]*)\//.exec(headers.authorization ?? '')?.[1] ?? '';
  if (isSame(presented, accessKeyId)) return undefined;
  const message = 'Sign with the access key that npm start has printed (AWS_ACCESS_KEY_ID of this run).';
  return { type: 'UnrecognizedClientException', message, status: 403 };
}

/** Compares two texts in constant time. */
function isSame(presented: string, expected: string): boolean {
  const hashOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hashOf(presented), hashOf(expected));
}

/** Reads the scope of Signature Version 4: `Credential=<key>/<date>/<region>/<service>/aws4_request`. */
export function callOf({ headers }: IncomingMessage): LocalAwsCall {
  const scope = /Credential=[^/]*\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(headers.authorization ?? '');
  const target = String(headers['x-amz-target'] ?? '');
  return { service: scope?.[1] ?? 'unsigned', operation: target.split('.').at(-1) ?? '' };
}
