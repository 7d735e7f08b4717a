/** Whether a request was addressed to this machine: a name of somebody else that leads here (DNS rebinding) is not. */

const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** `host`: the header, with its port or without. */
export function isOwnHost(host: string | null | undefined): boolean {
  if (host === null || host === undefined) return false;
  return OWN_HOSTS.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));
}

export const FOREIGN_HOST_SENTENCE =
  'This server is for programs on this machine: ask it as 127.0.0.1 or localhost.';

/** The same server, deaf to what was addressed to anybody else. `connection`: what the server has beside the request. */
export function forOwnHost<Connection extends object>(
  serve: (request: Request, connection: Connection) => Response | Promise<Response>,
): (request: Request, connection: Connection) => Response | Promise<Response> {
  return (request, connection) =>
    isOwnHost(request.headers.get('host'))
      ? serve(request, connection)
      : Response.json({ code: '', message: FOREIGN_HOST_SENTENCE }, { status: 421 });
}
