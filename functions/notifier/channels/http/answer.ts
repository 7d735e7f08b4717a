/** Reads the answer to a request of a channel, and makes a failure of one that is no success. */

import { readBounded } from '../../../../shared/runtime/read-bounded.ts';
import type { SendResult } from '../kind/channel.ts';

/**
 * Reading stops after this many bytes. A webhook answers with a word, the Web API of Slack repeats the message, and a
 * proxy may send a long page.
 */
const ANSWER_BYTES_MAX = 100_000;

/** Returns the answer's body, as far as it is read. */
export async function readStart(response: Response): Promise<string> {
  return (await readBounded(response.body, ANSWER_BYTES_MAX)).toString();
}

export function failure(response: Response, reason: string): Extract<SendResult, { kind: 'failed' }> {
  return { kind: 'failed', reason, retryAfterMs: retryAfterMs(response.headers.get('retry-after')) };
}

/** Returns the pause that the channel asks for in whole seconds, in ms. Any other value is ignored. */
function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? 'none');
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}
