/** Sends the reads of a conformance run to the upstream. */

import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { within } from '../../process/deadline.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import type { Get } from './collect-evidence.ts';

/** Specification "Errors": the service itself gives up long before. */
const ANSWER_MS_MAX = 30_000;

const WRONG_KEY = 'this-key-is-wrong-on-purpose';

/** `baseUrl` has no slash at its end. The result rejects with `AppError` when there is no answer. */
export function createGet(baseUrl: string, key: Secret, { clock, signal }: Surroundings): Get {
  return async (path, which) => {
    const presented = which === 'wrong' ? WRONG_KEY : key.reveal();
    const authorization = which === 'none' ? undefined : `Bearer ${presented}`;
    try {
      return await within(ANSWER_MS_MAX, { clock, signal }, async (inTime) => {
        const response = await fetch(`${baseUrl}${path}`, {
          redirect: 'manual',
          headers: { accept: 'application/json', ...(authorization && { authorization }) },
          signal: inTime,
        });
        const text = await response.text();
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          json: parseJson(text),
        };
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { message } = toError(toError(error).cause ?? error);
      throw new AppError(
        'upstream_silent',
        `${baseUrl} does not answer (${message}); check --upstream and the network.`,
      );
    }
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
