/**
 * Keeps a child process from the internet: `node --import` of this file makes every connection to another machine fail
 * and reports it on the standard error output. The program itself stays unmodified.
 */

import { Socket } from 'node:net';

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

// oxlint-disable-next-line typescript/unbound-method -- it is called on the socket below
const { connect } = Socket.prototype;

/**
 * Returns the host of `connect(options)`, of `connect(port, host)`, and of the list of arguments that Node itself
 * passes. Without a host, a socket connects to this machine.
 */
function hostOf(args: readonly unknown[]): string {
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as readonly unknown[];
  if (typeof first === 'number' || typeof first === 'string')
    return typeof second === 'string' ? second : 'localhost';
  const options = first;
  const hasHost = typeof options === 'object' && options !== null && 'host' in options;
  return hasHost && typeof options.host === 'string' ? options.host : 'localhost';
}

Socket.prototype.connect = function refuseOthers(this: Socket, ...args: readonly unknown[]): Socket {
  const host = hostOf(args);
  if (LOOPBACK.has(host)) return Reflect.apply(connect, this, args) as Socket;
  process.stderr.write(`loopback-only: refused a connection to ${host}\n`);
  return this.destroy(new Error('This process may connect to this machine only'));
};
