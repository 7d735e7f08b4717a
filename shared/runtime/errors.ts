/**
 * Describes an operating failure by a stable code, a sentence for a person, and ids. It never contains a request,
 * header or body.
 */

export class AppError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/** Turns anything that was thrown into an `Error`. Any other value becomes the cause of one. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error('something that is not an Error was thrown', { cause: thrown });
}
