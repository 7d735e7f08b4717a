/** Defines what the bridge needs of HTTP: one request that is sent, and its answer, whose body can be read once. */

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** It is undefined when the request has no body. */
  readonly body: string | undefined;
  /** It aborts when the caller gives up. */
  readonly signal: AbortSignal | undefined;
  /** The whole exchange, with the body of the answer, must end within this time. */
  readonly timeoutMs: number;
}

/** `Response` of the Fetch standard is one. */
export interface HttpAnswer {
  readonly status: number;
  /** The status is 200 to 299. */
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  /** The bytes are unpacked already. Reading rejects when the exchange breaks off, is aborted, or takes too long. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/**
 * Resolves when the head of the answer is there. It follows no redirect and rejects instead. After `timeoutMs` it rejects
 * with an error whose name is `TimeoutError`.
 */
export type SendHttp = (request: HttpRequest) => Promise<HttpAnswer>;

/** Sends reads in one way and everything else in another. Only a read may be sent twice. */
export function sendByKind(sendRead: SendHttp, sendOther: SendHttp): SendHttp {
  return (request) => (request.method === 'GET' ? sendRead(request) : sendOther(request));
}

/** Aborts with a `TimeoutError` after this duration. */
type TimeoutSignal = (durationMs: number) => AbortSignal;

/** The defaults are those of the machine. */
export function sendByFetch(
  send: typeof fetch = fetch,
  timeoutSignal: TimeoutSignal = (durationMs) => AbortSignal.timeout(durationMs),
): SendHttp {
  return ({ url, method, headers, body, signal, timeoutMs }) => {
    const timeout = timeoutSignal(timeoutMs);
    return send(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
  };
}
