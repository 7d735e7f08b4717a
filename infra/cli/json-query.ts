/** Evaluates `--query`, a JMESPath expression that chooses a part of a JSON answer. */

import { JMESPathError, JMESPathTypeError, search } from '@aws-lambda-powertools/jmespath';
import { UsageError } from '../process/command.ts';

/** Throws `UsageError` before anything is sent when the expression can never be evaluated (https://jmespath.org/specification.html). */
export function refuseQuery(query: string | undefined): void {
  if (query === undefined) return;
  try {
    search(query, {});
  } catch (error) {
    // Whether a function can take what it is given depends on the answer.
    if (error instanceof JMESPathTypeError) return;
    if (!(error instanceof JMESPathError)) throw error;
    throw new UsageError(`--query is "${query}"; it takes a JMESPath expression (${error.message}).`);
  }
}

/** An answer that the expression cannot be applied to is printed whole, because the command was carried out. */
export function chosenBy(query: string, answer: unknown, note: (sentence: string) => void): unknown {
  try {
    return search(query, answer as Parameters<typeof search>[1]);
  } catch (error) {
    if (!(error instanceof JMESPathError)) throw error;
    note(`--query cannot be applied to the answer, which is printed whole: ${error.message}`);
    return answer;
  }
}
