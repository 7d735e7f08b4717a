/** Operating failures carry a stable code, a sentence for a person, and ids; never requests, headers or bodies. */

export class AppError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/** One funnel for whatever was thrown: an `Error`, with what was not one kept as its cause. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error('something that is not an Error was thrown', { cause: thrown });
}
