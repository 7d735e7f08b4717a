/** One result of an examination: what was checked, what was found, and what to do about it. */

export interface Finding {
  /** The part and the subject, such as `upstream key`. */
  readonly check: string;
  readonly verdict: 'ok' | 'problem' | 'not checked';
  /** A sentence that says what was found. */
  readonly found: string;
  /** A sentence that says what to do. Every finding that is not `ok` has one. */
  readonly advice?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, verdict: 'ok', found };
}

export function problem(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'problem', found, advice };
}

export function notChecked(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'not checked', found, advice };
}
