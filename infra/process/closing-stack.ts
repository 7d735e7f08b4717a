/**
 * Closes what was opened in the opposite order. Node 24 has `AsyncDisposableStack` for it; the released command also
 * runs on Node 22, which lacks it.
 */

import { toError } from '../../shared/runtime/errors.ts';

export interface ClosingStack extends AsyncDisposable {
  /** Calls `close` at the end, before everything that was deferred earlier. */
  defer(close: () => Promise<void>): void;
  /** Closes the resource at the end, and returns it. */
  use<Resource extends AsyncDisposable>(resource: Resource): Resource;
}

/**
 * Closes everything, also after an error. Then it rejects with the error, or with an `AggregateError` when several
 * have failed.
 */
export function createClosingStack(): ClosingStack {
  const closings: (() => PromiseLike<void>)[] = [];
  return {
    defer: (close) => void closings.push(close),
    use(resource) {
      closings.push(() => resource[Symbol.asyncDispose]());
      return resource;
    },
    async [Symbol.asyncDispose]() {
      const errors: Error[] = [];
      for (const close of closings.splice(0).toReversed()) {
        try {
          await close();
        } catch (thrown) {
          errors.push(toError(thrown));
        }
      }
      if (errors.length > 1)
        throw new AggregateError(errors, errors.map(({ message }) => message).join('; '));
      if (errors[0] !== undefined) throw errors[0];
    },
  };
}
