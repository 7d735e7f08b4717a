/** Serves `npm run bench -- poll-cpu` an account in which nothing happens, in a process of its own that ends with its parent. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { settledAnswer } from './settled-account.ts';

const account = { projectCount: Number(process.argv[2]), startMs: Date.now() };
const bodies = new Map<string, string>();

const server = createServer(({ url = '/' }, response) => {
  const body =
    bodies.get(url) ?? JSON.stringify(settledAnswer(account, new URL(url, 'http://upstream.invalid')));
  bodies.set(url, body);
  response.setHeader('content-type', 'application/json').end(body);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit(0));
