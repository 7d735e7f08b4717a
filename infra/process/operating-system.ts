/**
 * Deals with the operating system: reads what its errors say and why it refused a port, writes files that only their
 * user can read, and recognises requests that were addressed to this machine by name.
 */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { toError } from '../../shared/runtime/errors.ts';

/**
 * Returns for example `ENOSPC`, `EADDRINUSE` or `ERR_PARSE_ARGS_UNKNOWN_OPTION`, and an empty text when the error has
 * no code.
 */
export function codeOf(thrown: unknown): string {
  const error = toError(thrown);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Returns true for what a file operation throws: only such an error has an error number. */
export function isSystemError(thrown: unknown): boolean {
  const error = toError(thrown);
  return 'errno' in error && typeof error.errno === 'number';
}

/** Returns for example `ENOSPC: no space left on device`, without the name of the function that failed. */
export function reasonOf(thrown: unknown): string {
  const [reason] = toError(thrown).message.split(', ');
  return reason ?? '';
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program',
  EACCES: 'is reserved for programs with more rights',
};

/** Returns undefined when the error's code says nothing about the port. `option` is the name without its dashes. */
export function portRefusal(
  code: string,
  { port, option }: { readonly port: number | string; readonly option: string },
): string | undefined {
  const reason = REASONS[code];
  return reason && `Port ${port} ${reason}; choose another one with --${option}, or leave it out.`;
}

/** Replaces the file in one step, so that a killed process leaves the old content or the new one. */
export function writePrivateFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const half = `${file}.${process.pid}.part`;
  writeFileSync(half, text, { mode: 0o600 });
  renameSync(half, file);
}

const OWN_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** `host` is the request's Host header, with or without its port. */
export function isOwnHost(host: string | null | undefined): boolean {
  if (host === null || host === undefined) return false;
  return OWN_HOSTS.has(hostnameOf(host));
}

export const FOREIGN_HOST_SENTENCE =
  'This server is for programs on this machine: ask it as 127.0.0.1 or localhost.';

function hostnameOf(host: string | null): string {
  return host?.toLowerCase().replace(/:\d{1,5}$/, '') ?? '';
}

/**
 * Wraps a server so that it refuses requests for other hosts, because a page in a browser could reach it under a name
 * of its own. `connection` is what the server passes beside the request. People have named it `furtherHosts`.
 */
export function forOwnHost<Connection extends object>(
  serve: (request: Request, connection: Connection) => Response | Promise<Response>,
  furtherHosts: readonly string[] = [],
): (request: Request, connection: Connection) => Response | Promise<Response> {
  const further = new Set(furtherHosts);
  const isServed = (host: string | null) =>
    isOwnHost(host) || further.has(host?.toLowerCase() ?? '') || further.has(hostnameOf(host));
  return (request, connection) =>
    isServed(request.headers.get('host'))
      ? serve(request, connection)
      : Response.json({ code: '', message: FOREIGN_HOST_SENTENCE }, { status: 421 });
}
