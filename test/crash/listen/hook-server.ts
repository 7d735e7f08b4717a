/** A server that receives forwarded events, checks their signatures, and can be away for a while. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface HookServer {
  readonly url: string;
  /** The ids of the accepted events, in the order in which they came, with copies. */
  readonly receivedIds: readonly string[];
  /** What was wrong with requests that were not accepted. */
  readonly faults: readonly string[];
  /** Closes the port and every connection, as a server does that is stopped. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function startHookServer(secret: string): Promise<HookServer> {
  const receivedIds: string[] = [];
  const faults: string[] = [];
  const webhook = new Webhook(secret);
  let port = 0;
  let server: Server | undefined;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    try {
      webhook.verify(body, request.headers as Record<string, string>);
      const { id } = JSON.parse(body) as { readonly id: string };
      if (request.headers['webhook-id'] !== id) faults.push(`webhook-id of ${id} is another one`);
      receivedIds.push(id);
      response.writeHead(204).end();
    } catch (error) {
      faults.push(String(error));
      response.writeHead(400).end();
    }
  };

  const listen = async () => {
    server = createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  await listen();
  return {
    url: `http://127.0.0.1:${port}/hook`,
    receivedIds,
    faults,
    async leave() {
      if (server === undefined) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      server = undefined;
    },
    comeBack: listen,
  };
}
