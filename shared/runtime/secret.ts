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
