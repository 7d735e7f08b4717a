/** Computes the checksums with which clients of SQS compare what arrived (Developer Guide, "Calculating the MD5 message digest"). */

import { createHash } from 'node:crypto';
import type { MessageAttribute } from './stored-messages.ts';

export function digestOfBody(body: string): string {
  return createHash('md5').update(body).digest('hex');
}

/** Returns undefined without attributes: the field is then absent. */
export function digestOfAttributes(
  attributes: Readonly<Record<string, MessageAttribute>>,
): string | undefined {
  const names = Object.keys(attributes).toSorted();
  if (names.length === 0) return undefined;
  const hash = createHash('md5');
  for (const name of names) {
    const { DataType = '', StringValue = '', BinaryValue } = attributes[name] ?? {};
    hash.update(withLength(Buffer.from(name))).update(withLength(Buffer.from(DataType)));
    const isBinary = BinaryValue !== undefined;
    hash.update(Buffer.from([isBinary ? 2 : 1]));
    hash.update(withLength(isBinary ? Buffer.from(BinaryValue, 'base64') : Buffer.from(StringValue)));
  }
  return hash.digest('hex');
}

/** Four bytes with the length precede the value, the highest first. */
function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
