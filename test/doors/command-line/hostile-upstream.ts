/** An upstream whose texts try to command the terminal of who watches it. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Each of these moves a cursor, sets a title, hides or turns what follows, or begins a line of its own. */
export const HOSTILE_TEXTS: readonly string[] = [
  'a\u001b]0;owned\u0007b',
  'a\u001b[2J\u001b[Hb',
  'a\u001b[8mb',
  'a\u009b2Jb',
  'a\u202eb',
  'a\u2066b',
  'a\r\n12:00:00  ok-project  start_compute  finished b',
  'a\u2028b',
  'a\u0085b',
  'a\u0008\u0008b',
];

/** It has one project, and for each text one operation with the text as its action and its status. */
export async function startHostileUpstream(): Promise<{
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly projectId: string;
}> {
  const projectId = 'hostile-pond-12345678';
  const startedMs = Date.now();
  const operations = HOSTILE_TEXTS.map((text, place) => ({
    id: `00000000-0000-4000-8000-00000000000${place}`,
    project_id: projectId,
    action: text,
    status: text,
    error: text,
    failures_count: 1,
    created_at: new Date(startedMs - 1_000 * place).toISOString(),
    updated_at: new Date(startedMs - 1_000 * place).toISOString(),
  }));
  const project = { id: projectId, name: HOSTILE_TEXTS[0] };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://upstream');
    const answer = pathname.endsWith('/operations')
      ? { operations, pagination: {} }
      : pathname === '/api/v2/projects'
        ? { projects: [project], pagination: {} }
        : undefined;
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: HOSTILE_TEXTS.join(' ') }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/api/v2`, apiKey: 'key-of-the-hostile-upstream', projectId };
}
