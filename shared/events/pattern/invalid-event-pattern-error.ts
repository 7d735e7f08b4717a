/** Defines the error with which AWS refuses a pattern that it cannot read (EventBridge API Reference, PutRule). */

export class InvalidEventPatternError extends Error {
  override readonly name = 'InvalidEventPatternException';
}

/** `path` says where the fault is. It is empty for the pattern as a whole. */
export function refusePattern(reason: string, path: string): never {
  const where = path === '' ? '' : ` at "${path}"`;
  throw new InvalidEventPatternError(`Event pattern is not valid. Reason: ${reason}${where}`);
}
