/** Cursors as callers carry them: opaque text, checked before anything is read with it. */

import * as z from 'zod';
import { AppError } from '../../../shared/runtime/errors.ts';

/** A list in pieces. `next` undefined: nothing more at the moment. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** Two dozen hashes and a position of an index are below two kilobytes; a feed's cursor below four. */
const CURSOR_CHARACTERS_MAX = 6_000;

export function encodeCursor(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Throws `AppError` `cursor_invalid`: cut off, made up, or of another list. */
export function decodeCursor<Schema extends z.ZodType>(schema: Schema, cursor: string): z.output<Schema> {
  const parsed = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : schema.safeParse(parseJson(cursor));
  if (parsed?.success === true) return parsed.data;
  throw new AppError('cursor_invalid', 'The cursor is not one that this list gave out; begin without one');
}

function parseJson(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** A position in an index, as the table gave it; `partition`: the one that the list is about. */
export function positionSchema(partitionName: string, partition: string) {
  return z
    .record(z.string(), z.string().max(500))
    .refine((position) => position[partitionName] === partition && Object.keys(position).length <= 5);
}
