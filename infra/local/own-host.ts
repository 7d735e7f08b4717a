/** Whether a request was addressed to this machine: a name of somebody else that leads here (DNS rebinding) is not. */

const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** `host`: the header, with its port or without. */
export function isOwnHost(host: string | null | undefined): boolean {
  if (host === null || host === undefined) return false;
  return OWN_HOSTS.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));
}

export const FOREIGN_HOST_SENTENCE =
  'This server is for programs on this machine: ask it as 127.0.0.1 or localhost.';

/** The same server, deaf to what was addressed to anybody else. */
export function forOwnHost(
  serve: (request: Request) => Response | Promise<Response>,
): (request: Request) => Response | Promise<Response> {
  return (request) =>
    isOwnHost(request.headers.get('host'))
      ? serve(request)
      : Response.json({ code: '', message: FOREIGN_HOST_SENTENCE }, { status: 421 });
}
