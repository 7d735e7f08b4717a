/** Reads who calls which operation of the local AWS from the signature, and refuses foreign callers. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { FOREIGN_HOST_SENTENCE, isOwnHost } from '../../process/own-host.ts';
import type { Refusal } from './json-answer.ts';

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
