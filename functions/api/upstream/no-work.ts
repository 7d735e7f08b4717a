/** Which answers of the upstream prove that a command was not carried out. */

/**
 * Refusals of a request as it stands (RFC 9110, 15.5; RFC 4918, 11.3 for 423; RFC 6585 for 429 and 431), and the two of
 * which the public contract says that no work was done: 423 and 503. Missing on purpose: 408, 425 and 499 say that the
 * request took too long or came too early, and 409 may be the answer to a repetition of a command that was carried out.
 */
const PROVE_NO_WORK: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 422, 423, 426, 428, 429, 431,
  451, 503,
]);

export function provesNoWork(status: number): boolean {
  return PROVE_NO_WORK.has(status);
}
