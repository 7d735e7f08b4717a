/** A body by the bytes that really come, whatever a header says of them. */

/** Stops at the first piece beyond the limit: one byte more than is allowed says that it is too much. */
export async function readCapped(request: Request, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (request.body !== null) {
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > bytesMax) break;
    }
  }
  return Buffer.concat(chunks);
}
