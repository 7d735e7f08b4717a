/** A server on the loopback that answers each request as a script says, and writes down what it was asked. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a server may do with a request. `{origin}` in a body or a header stands for the address of the server. */
export type Answer =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** The connection ends without an answer. */
  | { readonly kind: 'hang-up' }
  /** The connection ends in the middle of the body. */
  | { readonly kind: 'cut'; readonly body: string }
  /** Nothing comes, and the connection stays. */
  | { readonly kind: 'never' }
  /** The answer takes this long. */
  | { readonly kind: 'late'; readonly ms: number; readonly answer: Answer }
  /** A person presses Ctrl-C while the request is under way. */
  | { readonly kind: 'ctrl-c'; readonly answer: Answer };

export interface Exchange {
  /** The method and the path with its query, such as `GET /bridge/v1/audit?limit=50`; or `AWS` and the name of a call. */
  readonly request: string;
  readonly answer: Answer;
  /** Headers that the request must have, and with null those that it must not have. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** The body of the request, as parsed JSON if it is any. Only what is named here is compared. */
  readonly body?: unknown;
}

export interface Asked {
  readonly request: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What the script needs of the run that it is a part of. */
interface Stage {
  /** Marks a request that is left open; the result ends the mark. */
  readonly leaveOpen: () => () => void;
  readonly sleep: (ms: number) => Promise<void>;
  readonly pressCtrlC: () => void;
  /** Is called for a request that the script does not have. The program must be ended then. */
  readonly onUnscripted: () => void;
}

export interface ScriptedServer extends AsyncDisposable {
  readonly origin: string;
  readonly asked: readonly Asked[];
  /** The exchanges of the script that were asked for, in the order of the requests. */
  readonly played: readonly Exchange[];
  begin(stage: Stage): void;
}

/** In order, each request must be the next one of the script; otherwise it may be any that has not been asked yet. */
export async function startScriptedServer(
  script: readonly Exchange[],
  order: 'in order' | 'in any order',
): Promise<ScriptedServer> {
  const left = [...script];
  const asked: Asked[] = [];
  const played: Exchange[] = [];
  let stage: Stage | undefined;
  let origin = '';

  const exchangeFor = (request: string): Exchange | undefined => {
    const place = order === 'in order' ? 0 : left.findIndex((each) => each.request === request);
    if (left[place]?.request !== request) return undefined;
    const [exchange] = left.splice(place, 1);
    return exchange;
  };
  const server = createServer((request, response) => {
    void text(request)
      .then(async (body) => {
        const line = lineOf(request, body);
        asked.push({ request: line, headers: request.headers, body });
        const exchange = exchangeFor(line);
        if (exchange !== undefined) {
          played.push(exchange);
          return play(exchange.answer, response);
        }
        left.splice(0);
        response.socket?.destroy();
        stage?.onUnscripted();
      })
      // The program may have given the request up.
      .catch(() => response.destroy());
  });

  async function play(answer: Answer, response: ServerResponse): Promise<void> {
    switch (answer.kind) {
      case 'answer': {
        const headers = { 'content-type': 'application/json', ...answer.headers };
        const placed = Object.entries(headers).map(([name, value]) => [name, place(value)]);
        response.writeHead(answer.status, Object.fromEntries(placed)).end(place(answer.body));
        return;
      }
      case 'hang-up':
        response.socket?.destroy();
        return;
      case 'cut': {
        const body = Buffer.from(place(answer.body));
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
        // The first half must have left before the connection ends.
        response.write(body.subarray(0, body.length / 2), () => response.socket?.destroy());
        return;
      }
      case 'never':
        stage?.leaveOpen();
        return;
      case 'late': {
        const done = stage?.leaveOpen();
        await stage?.sleep(answer.ms);
        done?.();
        return play(answer.answer, response);
      }
      case 'ctrl-c':
        stage?.pressCtrlC();
        return play(answer.answer, response);
    }
  }
  const place = (words: string) => words.replaceAll('{origin}', origin);

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    asked,
    played,
    begin(given) {
      stage = given;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A call of AWS is named by its header or, for SNS, in its body; anything else by its method and its path. */
function lineOf({ method = '', url = '', headers }: IncomingMessage, body: string): string {
  const target = headers['x-amz-target'];
  if (typeof target === 'string') return `AWS ${target.split('.').at(-1)}`;
  const action = method === 'POST' && url === '/' ? new URLSearchParams(body).get('Action') : null;
  if (action !== null) return `AWS ${action}`;
  return requestLine(`${method} ${url}`);
}

/** Sorts the query, because its order means nothing. */
export function requestLine(line: string): string {
  const [head = '', query] = line.split('?', 2);
  if (query === undefined) return head;
  const sorted = new URLSearchParams(query);
  sorted.sort();
  return `${head}?${decodeURIComponent(String(sorted).replaceAll('+', ' '))}`;
}
