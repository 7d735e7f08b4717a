/** Describes what a command of a caller comes to: a value, or a refusal with its status and message. */

export type Outcome<Value> = { readonly kind: 'done'; readonly value: Value } | Refused;

export interface Refused {
  readonly kind: 'refused';
  readonly status: 400 | 403 | 404 | 406 | 409 | 412 | 422 | 423;
  readonly message: string;
  /** The service names few of its refusals by a code; the code of the others is empty (observed). */
  readonly code?: string;
}

export function done<Value>(value: Value): Outcome<Value> {
  return { kind: 'done', value };
}

export function refused(status: Refused['status'], message: string, code = ''): Refused {
  return { kind: 'refused', status, message, code };
}
