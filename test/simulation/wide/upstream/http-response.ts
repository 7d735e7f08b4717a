/**
 * Makes the answers of the virtual upstream. They have what the client reads of a `Response`: a real one costs a
 * tenth of a run, because Node builds a web stream for its body.
 */

export function httpResponse(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: AsyncIterable<Uint8Array>,
): Response {
  const answer: Pick<Response, 'status' | 'ok'> & {
    readonly headers: Pick<Headers, 'get'>;
    readonly body: AsyncIterable<Uint8Array>;
  } = {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    body,
  };
  return answer as Response;
}

/** Streams a whole body in one piece. */
export async function* whole(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}
