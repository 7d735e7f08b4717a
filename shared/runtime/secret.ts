/** Wraps a value that must never be printed: `reveal` is the only way to its text. */

import { inspect } from 'node:util';

export interface Secret {
  reveal(): string;
}

const REDACTED = '[redacted]';

/** JSON, template strings, `console.log` and `util.inspect` of the result all print `[redacted]`. */
export function createSecret(text: string): Secret {
  return Object.freeze({
    reveal: () => text,
    toString: () => REDACTED,
    toJSON: () => REDACTED,
    [inspect.custom]: () => REDACTED,
  });
}

/** These secrets are recognized wherever they stand: private keys, and tokens with the prefix of their issuer. */
const WHOLE = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /(?<![A-Za-z0-9])(?:napi|npg|opb|ssk|sk|gh[a-z]|github_pat|xoxb)_[A-Za-z0-9_-]{10,}/g,
  /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/g,
] as const;

/** Names with these ends have values that are secrets. */
const NAME = '(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|token)';

/** Each pattern keeps what stands before the secret. */
const AFTER = [
  // This hides a JSON Web Token. It begins at a whole run of its characters, and only then looks for the head in it: from
  // each `eyJ` on its own, a text of nothing but `-eyJ` would be read to its end again and again.
  /(?<![\w-])(?=[\w-]{13,}\.[\w-]{10,}\.)((?:(?!\beyJ)[\w-])*)\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
  // This hides the password of `postgres://user:password@host`, and what is left of it when the text ends early. A
  // port has only a few digits and is kept.
  /(:\/\/[^\s:@/]*:)[^\s/]*(?=@)/g,
  /(:\/\/[^\s:@/[]*:)(?!\d{1,5}(?![^\s/?#,;.)"'\]]))[^\s/@]+/g,
  // This hides the value of `password=...`, in a query or between spaces, quoted or not.
  new RegExp(`(${NAME}\\s*=\\s*)(?:'[^']*|"[^"]*|[^\\s&;'"]+)`, 'gi'),
  // This hides the value of `"password":"..."`, also within a text of JSON.
  new RegExp(`("[\\w-]{0,40}${NAME}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'gi'),
  new RegExp(`(\\\\"[\\w-]{0,40}${NAME}\\\\"\\s*:\\s*\\\\")(?:(?!\\\\").)+`, 'gi'),
  /(\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?)[^\s"',;]+/gi,
  /(\bbearer\s+)(?=\S*\d)[\w.~+/=-]{8,}/gi,
] as const;

/**
 * Every pattern above needs one of these. Most texts have none, and one search for them is a tenth of the work of all
 * patterns.
 */
const TRACE = /-----BEGIN |eyJ|_[A-Za-z0-9_-]{10}|xox|:\/\/|pass|pwd|secret|key|token|authorization|bearer/i;

/** The mark shows people that something was hidden. */
export const HIDDEN_MARK = '[hidden]';

/** A secret that begins in what is kept of a text is seen whole up to this length. The longest tokens have 8 kB. */
const SECRET_CHARACTERS_MAX = 16_384;

/**
 * Returns the part of a text that has to be searched when `keptMax` characters of it are kept. It is cut before the search,
 * so that a long text costs no more than a short one, and behind what is kept, because half a secret has no shape.
 */
export function partToSearch(text: string, keptMax: number): string {
  return text.slice(0, keptMax + SECRET_CHARACTERS_MAX);
}

/** Returns the same text with `mark` instead of each secret. */
export function withoutSecretShapes(text: string, mark: string): string {
  if (!TRACE.test(text)) return text;
  const plain = WHOLE.reduce((left, shape) => left.replace(shape, mark), text);
  return AFTER.reduce((left, shape) => left.replace(shape, `$1${mark}`), plain);
}
