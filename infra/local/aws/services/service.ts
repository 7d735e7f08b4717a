/** Defines one AWS service as the local server sees it: operations of the JSON protocol by name. */

import type { z } from 'zod';

export type Operation = (body: unknown) => object | Promise<object>;

export type Service = ReadonlyMap<string, Operation>;

/** The answer contains the name as `__type`, which the SDK turns into an exception of that name. */
export class ServiceError extends Error {
  /** The code that the older query protocol has for this error, which clients of SQS show instead of the name. */
  readonly queryCode: string | undefined;

  constructor(type: string, message: string, queryCode?: string) {
    super(message);
    this.name = type;
    this.queryCode = queryCode;
  }
}

/**
 * Defines an operation whose body is checked first. AWS calls a member of the wrong type a SerializationException.
 */
export function defineOperation<Body extends z.ZodType>(
  body: Body,
  perform: (input: z.output<Body>) => object | Promise<object>,
): Operation {
  return (json) => {
    const { success, data, error } = body.safeParse(json);
    if (success) return perform(data);
    const [issue] = error.issues;
    throw new ServiceError('SerializationException', `${issue?.path.join('.')}: ${issue?.message}`);
  };
}
