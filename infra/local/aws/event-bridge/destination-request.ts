/**
 * Derives the HTTP request that an API destination gets of an event (EventBridge User Guide, "API destinations"),
 * sends it, and says by the code of EventBridge why it failed.
 */

import { toError } from '../../../../shared/runtime/errors.ts';
import { codeOf } from '../../../process/operating-system.ts';
import type { ApiDestination, Connection } from './api-destinations.ts';
import { DeliveryError, type RuleTarget } from './deliveries.ts';

interface DestinationRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** GET and HEAD have none. */
  readonly body: string | undefined;
}

/** The input is JSON. What the connection sets wins over what the target sets. */
export function requestOf(
  destination: ApiDestination,
  connection: Connection,
  { HttpParameters }: RuleTarget,
  input: string,
): DestinationRequest {
  const { method } = destination;
  const {
    HeaderParameters = [],
    QueryStringParameters = [],
    BodyParameters = [],
  } = connection.parameters.InvocationHttpParameters ?? {};
  const url = new URL(pathFilled(destination.endpoint, HttpParameters?.PathParameterValues ?? []));
  const query = { ...HttpParameters?.QueryStringParameters, ...recordOf(QueryStringParameters) };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return {
    url: url.href,
    method,
    headers: {
      'user-agent': 'Amazon/EventBridge/ApiDestinations',
      'content-type': 'application/json; charset=utf-8',
      ...lowerCased(HttpParameters?.HeaderParameters ?? {}),
      ...lowerCased(recordOf(HeaderParameters)),
      ...authorization(connection),
    },
    body: method === 'GET' || method === 'HEAD' ? undefined : withMembers(input, recordOf(BodyParameters)),
  };
}

interface Parameter {
  readonly Key: string;
  readonly Value: string;
}

function recordOf(parameters: readonly Parameter[]): Readonly<Record<string, string>> {
  return Object.fromEntries(parameters.map(({ Key, Value }) => [Key, Value]));
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function pathFilled(endpoint: string, values: readonly string[]): string {
  const rest = [...values];
  return endpoint.replaceAll('*', () => encodeURIComponent(rest.shift() ?? ''));
}

function authorization({ parameters }: Connection): Readonly<Record<string, string>> {
  const { BasicAuthParameters: basic, ApiKeyAuthParameters: apiKey } = parameters;
  if (basic !== undefined) {
    const pair = Buffer.from(`${basic.Username}:${basic.Password}`).toString('base64');
    return { authorization: `Basic ${pair}` };
  }
  return apiKey === undefined ? {} : { [apiKey.ApiKeyName.toLowerCase()]: apiKey.ApiKeyValue };
}

/** Members are added to an object only; any other JSON stays as it is. */
function withMembers(input: string, members: Readonly<Record<string, string>>): string {
  if (Object.keys(members).length === 0) return input;
  const value: unknown = JSON.parse(input);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? JSON.stringify({ ...value, ...members }) : input;
}

/** EventBridge User Guide, "API destinations": the target has five seconds for its answer. */
const TIMEOUT_MS = 5_000;

/** EventBridge repeats on these and on every 5xx; any other refusal is final. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([401, 407, 409, 429]);

/** Rejects with a `DeliveryError`. The signal ends the request. */
export async function callDestination(request: DestinationRequest, signal: AbortSignal): Promise<void> {
  const { url, method, headers, body } = request;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const options = {
    method,
    headers,
    redirect: 'manual',
    signal: AbortSignal.any([signal, timeout]),
  } as const;
  const answer = await fetch(url, body === undefined ? options : { ...options, body }).catch(
    (error: unknown) => {
      throw unansweredError(error, timeout.aborted);
    },
  );
  await answer.body?.cancel();
  const { status } = answer;
  if (answer.ok) return;
  throw new DeliveryError(
    'ERROR_FROM_TARGET',
    `The HTTP address answered with ${status}.`,
    RETRIED_STATUSES.has(status) || status >= 500,
  );
}

function unansweredError(error: unknown, isTimedOut: boolean): DeliveryError {
  if (isTimedOut)
    return new DeliveryError(
      'TIMEOUT',
      `The HTTP address did not answer within ${TIMEOUT_MS / 1_000} s.`,
      true,
    );
  const cause = toError(toError(error).cause ?? error);
  const reason = codeOf(cause) || cause.message;
  return new DeliveryError('CONNECTION_FAILURE', `The HTTP address cannot be reached (${reason}).`, true);
}
