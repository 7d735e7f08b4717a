/**
 * Recognises requests that were addressed to this machine by name. A foreign name that resolves to it (DNS rebinding)
 * is refused.
 */

const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** `host` is the request's Host header, with or without its port. */
export function isOwnHost(host: string | null | undefined): boolean {
  if (host === null || host === undefined) return false;
  return OWN_HOSTS.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));
}

export const FOREIGN_HOST_SENTENCE =
  'This server is for programs on this machine: ask it as 127.0.0.1 or localhost.';

/**
 * Wraps a server so that it refuses requests for other hosts. `connection` is what the server passes beside the
 * request. A tunnel that a person has opened to the server has the address `publicUrl`.
 */
export function forOwnHost<Connection extends object>(
  serve: (request: Request, connection: Connection) => Response | Promise<Response>,
  publicUrl?: string,
): (request: Request, connection: Connection) => Response | Promise<Response> {
  const publicHost = URL.parse(publicUrl ?? '')?.host;
  const isServed = (host: string | null) =>
    isOwnHost(host) || (publicHost !== undefined && host?.toLowerCase() === publicHost);
  return (request, connection) =>
    isServed(request.headers.get('host'))
      ? serve(request, connection)
      : Response.json({ code: '', message: FOREIGN_HOST_SENTENCE }, { status: 421 });
}
