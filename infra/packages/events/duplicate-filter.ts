/** Recognizes the copies of an event, which at-least-once delivery makes. */

/**
 * Returns a function that returns true for an id that it has been given before. It remembers the last `idsMax` ids in memory, so
 * it serves a consumer that keeps running; a Lambda function or several instances need ids in a table, written in the same
 * transaction as their effect.
 */
export function createDuplicateFilter(idsMax = 10_000): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return true;
    seen.add(id);
    const [oldest] = seen;
    if (seen.size > idsMax && oldest !== undefined) seen.delete(oldest);
    return false;
  };
}
