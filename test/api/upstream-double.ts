/**
 * Replaces the wire to the upstream and keeps what was sent over it, for tests in which nothing may be sent or in
 * which sending fails.
 */

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

export function createUpstreamDouble(
  answer: (sent: Sent) => Response | Promise<Response> = () => Response.json({}),
) {
  const sent: Sent[] = [];
  const fetchDouble = (async (url: URL, init: RequestInit = {}) => {
    const one: Sent = {
      method: init.method ?? 'GET',
      url: String(url),
      headers: new Headers(init.headers),
      body: typeof init.body === 'string' ? init.body : '',
    };
    sent.push(one);
    return answer(one);
  }) as typeof fetch;
  return { sent, fetch: fetchDouble };
}
