/** Reads the values of command-line options. Its errors say what was found and what is allowed. */

/** The message is shown to the person as it is, and the command ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function parseInteger(
  name: string,
  text: string,
  range: { readonly min: number; readonly max: number },
): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
  throw new UsageError(`--${name} is "${text}"; it takes a whole number from ${range.min} to ${range.max}.`);
}

export function parsePort(name: string, text: string): number {
  return parseInteger(name, text, { min: 0, max: 65_535 });
}

export function parseSpeed(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= 1 && value <= 100) return value;
  throw new UsageError(`--speed is "${text}"; it takes a number from 1 (real time) to 100.`);
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Converts `90s`, `5m` and `2h` to milliseconds. */
export function parseDuration(name: string, text: string): number {
  const match = /^(\d+)([smh])$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ''];
  if (match?.[1] !== undefined && unitMs !== undefined && Number(match[1]) > 0)
    return Number(match[1]) * unitMs;
  throw new UsageError(`--${name} is "${text}"; it takes a duration such as 90s, 5m or 2h.`);
}
