/** What AWS answers to a pattern that it cannot read (EventBridge API Reference, PutRule). */

export class InvalidEventPatternError extends Error {
  override readonly name = 'InvalidEventPatternException';
}

/** `path` says where; it is empty for the pattern as a whole. */
export function refusePattern(reason: string, path: string): never {
  const place = path === '' ? '' : ` at "${path}"`;
  throw new InvalidEventPatternError(`Event pattern is not valid. Reason: ${reason}${place}`);
}
