/**
 * Converts between times and log sequence numbers (LSN), which count the bytes of a project's write-ahead log. In the
 * simulation every log grows by one byte a millisecond from the creation of its project on, which is our choice.
 */

/** Postgres writes this much before the first connection. */
const FIRST_BYTE = 0x15_00_000;

/** Returns the form of Postgres: two hexadecimal numbers of 32 bits. */
export function lsnAt(projectCreatedAtMs: number, atMs: number): string {
  const byte = FIRST_BYTE + Math.max(0, Math.floor(atMs - projectCreatedAtMs));
  const high = Math.floor(byte / 2 ** 32);
  return `${high.toString(16).toUpperCase()}/${(byte % 2 ** 32).toString(16).toUpperCase()}`;
}

/** Returns milliseconds since the epoch, or undefined when the text is no LSN. */
export function msOfLsn(projectCreatedAtMs: number, lsn: string): number | undefined {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(lsn);
  if (match === null) return undefined;
  const byte = Number.parseInt(match[1] ?? '', 16) * 2 ** 32 + Number.parseInt(match[2] ?? '', 16);
  return projectCreatedAtMs + byte - FIRST_BYTE;
}
