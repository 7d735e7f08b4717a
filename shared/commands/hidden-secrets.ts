/**
 * Hides secrets in the answer to a read, for a caller without the scope for them. It finds them by the names of
 * fields, and by the shapes of texts.
 */

import { withoutSecretShapes } from '../runtime/secret-shapes.ts';

const HIDDEN = '';

/** Matches names without their separators and in small letters: `clientSecret`, `client-secret` and `CLIENT_SECRET` are the same name. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|privatekey|credential)|(^|_)pwd$|(apikey|accesskey|accesstoken|refreshtoken|authtoken|connectionuri|connectionstring|databaseurl|dsn)$/;

/** A time is no secret, even below a name like `password_updated_at`. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** The deepest answer that was seen has six levels. An answer with more levels than this counts as not readable. */
const DEPTH_MAX = 100;

/** Returns the same text when it has no secret in it, and undefined when it cannot be shown safely. */
export function withoutSecrets(text: string): string | undefined {
  const parsed = parseJson(text);
  if (parsed === undefined) return withoutShapes(text);
  try {
    const shown = hide(parsed.value, { isSecret: false, depth: 0 });
    const isSame = JSON.stringify(shown) === JSON.stringify(parsed.value);
    // When a name occurs twice, the parser keeps only one of the values, and the original text would show the other.
    return isSame && namesIn(text) === namesOf(parsed.value) ? text : JSON.stringify(shown);
  } catch {
    return undefined;
  }
}

interface Place {
  /** When this is true, the value stands below a name of a secret. */
  readonly isSecret: boolean;
  readonly depth: number;
}

function hide(value: unknown, { isSecret, depth }: Place): unknown {
  if (depth > DEPTH_MAX) throw new RangeError(`The answer is nested more than ${DEPTH_MAX} deep`);
  if (typeof value === 'string') return isSecret && !TIME.test(value) ? HIDDEN : withoutShapes(value);
  if (typeof value === 'number') return isSecret ? 0 : value;
  if (Array.isArray(value)) return value.map((each) => hide(each, { isSecret, depth: depth + 1 }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      withoutShapes(name),
      hide(each, { isSecret: isSecret || isSecretName(name), depth: depth + 1 }),
    ]),
  );
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, '').toLowerCase());
}

function withoutShapes(text: string): string {
  return withoutSecretShapes(text, HIDDEN);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Counts the names in a JSON text. Outside of strings, a colon follows only a name. */
function namesIn(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) count += 1;
  return count;
}

function namesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, each) => sum + namesOf(each), own);
}
