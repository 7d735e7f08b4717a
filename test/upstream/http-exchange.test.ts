import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readBounded } from '../../shared/runtime/foreign-text.ts';
import {
  createPooledHttp,
  type HttpRequest,
  proxyEnvOf,
  type SendHttp,
  sendByFetch,
  sendByKind,
} from '../../shared/upstream/pooled-http.ts';
import { answers, listen, type Script } from './scripted-upstream.ts';

const pooled = () => {
  const { send, close } = createPooledHttp(20);
  onTestFinished(close);
  return send;
};
const fetched = () => sendByFetch();

const packed =
  (encoding: string, bytes: Uint8Array): Script =>
  (_request, response) =>
    void response.writeHead(200, { 'content-encoding': encoding }).end(bytes);

const TEXT = '{"operations":[]}';
const beginsABody = (_request: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200).write('{"operations":[');

function request(url: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  const plain = { method: 'GET', headers: { accept: 'application/json' }, body: undefined };
  return { ...plain, url: new URL(url), signal: undefined, timeoutMs: 5_000, ...changes };
}

async function textOf(send: SendHttp, asked: HttpRequest): Promise<string> {
  const { body } = await send(asked);
  return (await readBounded(body, 1_000_000)).toString();
}

const nameOf = (failed: Promise<unknown>) =>
  failed.then(
    () => 'none',
    (error: unknown) => (error instanceof Error ? error.name : 'no error'),
  );

describe.each([
  ['fetch', fetched],
  ['pooled sockets', pooled],
])('%s', (_name, create) => {
  test('sends method, path, headers and body, and gives status, headers and body back', async () => {
    const send = create();
    let seen = '';
    const url = await listen((asked, response) => {
      asked.on('data', (chunk: Buffer) => {
        seen = `${asked.method} ${asked.url} ${asked.headers.accept} ${chunk.toString()}`;
        response.writeHead(201, { 'x-one': '1' }).end(TEXT);
      });
    });
    const answer = await send(request(`${url}/a?b=c%20d`, { method: 'POST', body: 'words' }));

    expect([answer.status, answer.ok, answer.headers.get('x-one'), answer.headers.get('x-two')]).toEqual([
      201,
      true,
      '1',
      null,
    ]);
    expect((await readBounded(answer.body, 1_000)).toString()).toBe(TEXT);
    expect(seen).toBe('POST /a?b=c%20d application/json words');
  });

  test.each([
    ['gzip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
  ])('unpacks %s', async (encoding, bytes) => {
    const url = await listen(packed(encoding, bytes));

    expect(await textOf(create(), request(url))).toBe(TEXT);
  });

  test('fails on bytes that cannot be unpacked', async () => {
    const garbage = await listen(packed('gzip', Buffer.from('no gzip')));

    expect(await nameOf(textOf(create(), request(garbage)))).not.toBe('none');
  });

  test.each([301, 302, 303, 307, 308])('follows no redirect with status %i', async (status) => {
    let elsewhereCount = 0;
    const elsewhere = await listen((_asked, response) => {
      elsewhereCount += 1;
      response.end(TEXT);
    });
    const url = await listen(answers(status, {}, { location: elsewhere }));

    expect(await nameOf(create()(request(url)))).not.toBe('none');
    expect(elsewhereCount).toBe(0);
  });

  test.each([
    ['before the head', () => {}],
    ['in the body', beginsABody],
  ])('ends with a TimeoutError when the time is over %s', async (_when, script) => {
    const url = await listen(script);

    expect(await nameOf(textOf(create(), request(url, { timeoutMs: 100 })))).toBe('TimeoutError');
  });

  test.each([
    ['before it is sent', undefined],
    ['before the head', () => {}],
    ['in the body', beginsABody],
  ] as const)('ends when its caller gives up %s', async (_when, script) => {
    const stop = new AbortController();
    const url = await listen((asked, response) => {
      script?.(asked, response);
      setImmediate(() => stop.abort(new RangeError('enough')));
    });
    if (script === undefined) stop.abort(new RangeError('enough'));

    expect(await nameOf(textOf(create(), request(url, { signal: stop.signal })))).toBe('RangeError');
  });

  test('fails when the connection ends before the head, and in the middle of the body', async () => {
    const before = await listen((asked) => void asked.socket.destroy());
    const within = await listen((_asked, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"', () => response.destroy());
    });

    expect(await nameOf(textOf(create(), request(before)))).not.toBe('none');
    expect(await nameOf(textOf(create(), request(within)))).not.toBe('none');
  });

  test('closes the connection of a body that is not read to its end', async () => {
    const closed = Promise.withResolvers<void>();
    const url = await listen((_asked, response) => {
      response.once('close', () => closed.resolve());
      response.writeHead(200);
      const fill = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', fill);
      fill();
    });
    const { body } = await create()(request(url));

    expect((await readBounded(body, 100_000)).byteLength).toBeGreaterThan(100_000);
    await closed.promise;
  });
});

describe('pooled sockets', () => {
  test('are used again, and no more of them are open than the bound says', async () => {
    let waited = 0;
    const { send, close } = createPooledHttp(3, {
      onWait: () => {
        waited += 1;
      },
    });
    onTestFinished(close);
    const ports = new Set<number | undefined>();
    const url = await listen((asked, response) => {
      ports.add(asked.socket.remotePort);
      setImmediate(() => response.end(TEXT));
    });
    const all = Array.from({ length: 20 }, () => textOf(send, request(url)));

    expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => TEXT));
    expect(ports.size).toBeLessThanOrEqual(3);
    expect(waited).toBe(17);
    await textOf(send, request(url));
    expect(waited).toBe(17);
  });

  test('are free again after requests that failed', async () => {
    let waited = 0;
    const { send, close } = createPooledHttp(2, {
      onWait: () => {
        waited += 1;
      },
    });
    onTestFinished(close);
    const url = await listen((asked) => void asked.socket.destroy());
    for (let count = 0; count < 6; count++) await nameOf(send(request(url)));
    const silent = await listen(() => {});
    for (let count = 0; count < 6; count++) await nameOf(send(request(silent, { timeoutMs: 20 })));
    const good = await listen(answers(200, {}));

    expect(await textOf(send, request(good))).toBe('{}');
    expect(await textOf(send, request(good))).toBe('{}');
    expect(waited).toBe(0);
  });

  /** Answers one request on each socket, and closes the socket with the next one. */
  const oncePerSocket = (seen: string[]): Script => {
    const used = new WeakSet<object>();
    return (asked, response) => {
      seen.push(asked.method ?? '');
      if (used.has(asked.socket)) asked.socket.destroy();
      else response.end(TEXT);
      used.add(asked.socket);
    };
  };

  test('a read is sent once more over a new socket when the server has closed the kept one', async () => {
    const { sendRead, close } = createPooledHttp(2);
    onTestFinished(close);
    const seen: string[] = [];
    const url = await listen(oncePerSocket(seen));

    expect(await textOf(sendRead, request(url))).toBe(TEXT);
    expect(await textOf(sendRead, request(url))).toBe(TEXT);
    expect(seen).toHaveLength(3);
  });

  test('a read is sent once when the server closes a new socket, or while it answers', async () => {
    const { sendRead, close } = createPooledHttp(2);
    onTestFinished(close);
    const seen: string[] = [];
    const closed = await listen((asked) => {
      seen.push('closed');
      asked.socket.destroy();
    });
    const broken = await listen((_asked, response) => {
      seen.push('broken');
      response.writeHead(200).write('{', () => response.destroy());
    });

    expect(await nameOf(textOf(sendRead, request(closed)))).not.toBe('none');
    expect(await nameOf(textOf(sendRead, request(broken)))).not.toBe('none');
    expect(seen).toEqual(['closed', 'broken']);
  });

  test('a command goes by the way of commands, and is sent once', async () => {
    const { send, sendRead, close } = createPooledHttp(2);
    onTestFinished(close);
    const seen: string[] = [];
    const url = await listen(oncePerSocket(seen));
    // In production `fetch` sends commands. Here they use kept sockets, on which the fault shows.
    const both = sendByKind(sendRead, send);

    expect(await textOf(both, request(url))).toBe(TEXT);
    expect(await nameOf(textOf(both, request(url, { method: 'DELETE' })))).toBe('ClosedMeanwhile');
    expect(seen).toEqual(['GET', 'DELETE']);
  });

  test('go through a proxy only when the environment asks for one', async () => {
    const seen: (string | undefined)[] = [];
    const proxy = await listen((asked, response) => {
      seen.push(asked.url);
      response.end(TEXT);
    });
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy };
    const { send, close } = createPooledHttp(2, { proxyEnv: proxyEnvOf(env) });
    onTestFinished(close);

    expect(await textOf(send, request('http://upstream.example/a'))).toBe(TEXT);
    expect(seen).toEqual(['http://upstream.example/a']);
    expect(proxyEnvOf({ HTTP_PROXY: proxy })).toBeUndefined();
  });

  test('packed bytes that end early are a failure', async () => {
    const url = await listen(packed('gzip', gzipSync(TEXT.repeat(1_000)).subarray(0, 40)));

    expect(await nameOf(textOf(pooled(), request(url)))).not.toBe('none');
  });

  test('a request that waits for a socket ends in its own time', async () => {
    const { send, close } = createPooledHttp(1);
    onTestFinished(close);
    const url = await listen(() => {});
    const first = nameOf(send(request(url, { timeoutMs: 200 })));

    expect(await nameOf(send(request(url, { timeoutMs: 50 })))).toBe('TimeoutError');
    expect(await first).toBe('TimeoutError');
  });
});
