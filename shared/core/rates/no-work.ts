/** Decides which answers of the upstream prove that a request had no effect. */

/**
 * These statuses refuse a request as it stands (RFC 9110, 15.5; RFC 4918, 11.3 for 423; RFC 6585 for 429 and 431), or
 * the public contract says of them that no work was done (423 and 503). Some are missing on purpose: 408, 425 and 499
 * say that the request took too long or came too early, and 409 may be the answer to a repetition of a command that
 * was carried out.
 */
const PROVE_NO_WORK: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 422, 423, 426, 428, 429, 431,
  451, 503,
]);

/** These of the refusals pass by themselves: the same request may succeed a moment later (public contract). */
const PASS: ReadonlySet<number> = new Set([423, 429, 503]);

/** When it is true, the command was not carried out, and the same request may be sent again. */
export function provesNoWork(status: number): boolean {
  return PROVE_NO_WORK.has(status);
}

/** When it is true, no work was done, and the same request may succeed a moment later, whatever its method. */
export function isPassingRefusal(status: number | undefined): boolean {
  return status !== undefined && PASS.has(status);
}
