/** Reads the body of a request by the bytes that really arrive, whatever a header says about their number. */

import { readBounded } from '../../../../shared/runtime/read-bounded.ts';

/** Stops at the first piece beyond the limit: a result of more than `bytesMax` bytes means that the body is too large. */
export function readCapped(request: Request, bytesMax: number): Promise<Uint8Array> {
  return readBounded(request.body as AsyncIterable<Uint8Array> | null, bytesMax);
}
