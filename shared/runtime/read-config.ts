/** Parses configuration, and names everything that is wrong with it in one error, without any value. */

import type * as z from 'zod';
import { AppError } from './errors.ts';
import { plainWords } from './plain-words.ts';

export function readConfig<Schema extends z.ZodType>(
  schema: Schema,
  source: unknown,
  what: string,
): z.output<Schema> {
  // Each of these schemas parses once, and zod would first compile a function for it.
  const parsed = schema.safeParse(source, { jitless: true, error: plainWords });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(all of it)'}: ${issue.message}`,
  );
  throw new AppError('config_invalid', `${what} is not usable. ${faults.join('; ')}`);
}
