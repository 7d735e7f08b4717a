/** A body by the bytes that really come, whatever a header says of them. */

import { readBounded } from '../../../shared/runtime/read-bounded.ts';

/** Stops at the first piece beyond the limit: one byte more than is allowed says that it is too much. */
export function readCapped(request: Request, bytesMax: number): Promise<Uint8Array> {
  return readBounded(request.body as AsyncIterable<Uint8Array> | null, bytesMax);
}
