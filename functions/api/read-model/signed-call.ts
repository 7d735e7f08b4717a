/**
 * Calls CloudWatch and CloudWatch Logs. The signer of the client of EventBridge signs these calls, because an SDK for each would
 * be larger than everything else that a page needs.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';

/** Both answer in some hundred milliseconds. */
const ANSWER_MS_MAX = 5_000;

interface Request {
  readonly method: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Signs for any service of AWS, as the client of each has it. */
interface Signer {
  sign(
    request: Request,
    options: { readonly signingService: string; readonly signingDate: Date },
  ): Promise<{ readonly headers: Record<string, string> }>;
}

export interface SignedCalls {
  readonly signer: () => Promise<Signer>;
  /** Returns the address of the service, without a path. */
  readonly originOf: (service: 'monitoring' | 'logs') => string;
  readonly clock: Clock;
}

/** Where a service takes calls: its name in signatures, the operation with its prefix, and the version of the JSON protocol. */
export interface SignedOperation {
  readonly service: 'monitoring' | 'logs';
  readonly target: string;
  readonly json: '1.0' | '1.1';
}

/** Rejects with an error that has the name of the service's own exception when the service refuses. */
export async function callSigned(
  { signer, originOf, clock }: SignedCalls,
  { service, target, json }: SignedOperation,
  input: object,
): Promise<unknown> {
  const origin = originOf(service);
  const { protocol, hostname, host } = new URL(origin);
  const body = JSON.stringify(input);
  const headers = { host, 'content-type': `application/x-amz-json-${json}`, 'x-amz-target': target };
  const request = { method: 'POST', protocol, hostname, path: '/', headers, body };
  const signed = await (await signer()).sign(request, {
    signingService: service,
    signingDate: new Date(clock.now()),
  });
  const response = await fetch(origin, {
    method: 'POST',
    headers: signed.headers,
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer;
  const type = String(Object(answer)['__type'] ?? response.status).replace(/^.*#/, '');
  throw Object.assign(new Error(`${target} was answered with ${response.status}.`), { name: type });
}
