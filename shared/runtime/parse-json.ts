/** Parses text that others have written. */

/** Returns undefined for a text that is not JSON, which a schema then refuses by the name of its field. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
