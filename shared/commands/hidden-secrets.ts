/**
 * Hides secrets in the answer to a read, for a caller without the scope for them. It finds them by the names of
 * fields, and by the shapes of texts.
 */

import { withoutSecretShapes } from '../runtime/secret.ts';

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
    // When a name occurs twice, the parser keeps only one of the values, and the original text would show the other.
    const isShown = namesWhenPlain(parsed.value, TOP) === namesIn(text);
    return isShown ? text : JSON.stringify(hide(parsed.value, TOP));
  } catch {
    return undefined;
  }
}

interface Place {
  /** When this is true, the value stands below a name of a secret. */
  readonly isSecret: boolean;
  readonly depth: number;
}

const TOP: Place = { isSecret: false, depth: 0 };

/**
 * Returns the number of names in the value when `hide` would change nothing, and `NaN`, which equals no number,
 * otherwise. Nearly every answer is as `hide` would make it, and is not copied then.
 */
function namesWhenPlain(value: unknown, { isSecret, depth }: Place): number {
  checkDepth(depth);
  if (typeof value === 'string') return hideText(value, isSecret) === value ? 0 : Number.NaN;
  if (typeof value === 'number') return !isSecret || value === 0 ? 0 : Number.NaN;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) {
    const place = { isSecret, depth: depth + 1 };
    return value.reduce<number>((count, each) => count + namesWhenPlain(each, place), 0);
  }
  let count = 0;
  for (const [name, each] of Object.entries(value)) {
    const kind = kindOf(name);
    if (kind === 'shaped') return Number.NaN;
    count += 1 + namesWhenPlain(each, { isSecret: isSecret || kind === 'secret', depth: depth + 1 });
  }
  return count;
}

function hide(value: unknown, { isSecret, depth }: Place): unknown {
  checkDepth(depth);
  if (typeof value === 'string') return hideText(value, isSecret);
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

function hideText(text: string, isSecret: boolean): string {
  return isSecret && !TIME.test(text) ? HIDDEN : withoutShapes(text);
}

function checkDepth(depth: number): void {
  if (depth > DEPTH_MAX) throw new RangeError(`The answer is nested more than ${DEPTH_MAX} deep`);
}

/** What a name says: its value is a secret, the name itself looks like a secret, or nothing of the kind. */
type NameKind = 'secret' | 'shaped' | 'plain';

/** Answers repeat a few hundred names, so what was found out about a name is remembered. */
const KINDS = new Map<string, NameKind>();

/** More names than this, or longer ones, are looked at each time: a name may be anything that a user has chosen. */
const NAMES_MAX = 2_000;
const NAME_CHARACTERS_MAX = 64;

function kindOf(name: string): NameKind {
  const known = KINDS.get(name);
  if (known !== undefined) return known;
  // A name that looks like a secret may be one, so it is not kept.
  if (withoutShapes(name) !== name) return 'shaped';
  const kind = isSecretName(name) ? 'secret' : 'plain';
  if (KINDS.size < NAMES_MAX && name.length <= NAME_CHARACTERS_MAX) KINDS.set(name, kind);
  return kind;
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

const QUOTE = '"'.charCodeAt(0);
const COLON = ':'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);

/** Counts the names in a JSON text. Outside of strings, a colon follows only a name. */
function namesIn(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === COLON) count += 1;
    if (unit === QUOTE) index = endOfString(text, index);
  }
  return count;
}

/** Returns the index of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE)
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  return index;
}
