/** Reads a body with a bound on its bytes, which are counted as they arrive, whatever a header says of their number. */

/**
 * Resolves to the whole body, when it has at most `bytesMax` bytes. Otherwise it resolves to its beginning, up to the
 * first piece that passes the bound: then the result is longer than `bytesMax`, and the rest is not read. Rejects
 * with the stream's error when it breaks off.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}
