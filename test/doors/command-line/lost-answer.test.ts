/** The process of `operations-bridge run` against a bridge whose answers are lost: what it sends, says, and ends with. */

import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from '../api/api-door.ts';

const OPERATION = {
  id: '22222222-2222-4222-8222-222222222222',
  project_id: PROJECT_ID,
  branch_id: 'br-lost-answer-1',
  action: 'create_branch',
  status: 'finished',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};
const CREATED = {
  branch: { id: 'br-lost-answer-1' },
  roles: [{ name: 'owner', password: 'a-role-password-1234' }],
  operations: [OPERATION],
};
const CREATE = [
  'run',
  'POST',
  `/projects/${PROJECT_ID}/branches`,
  '--data',
  '{"branch":{"name":"ci"}}',
  '--json',
];

interface Ended {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly json: any;
  readonly notes: string;
}

function run(url: string, token: string, args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, OPERATIONS_BRIDGE_URL: url, OPERATIONS_BRIDGE_TOKEN: token };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['infra/cli/operations-bridge.ts', ...args],
      { env },
      (error, output, notes) => {
        resolve({
          code: error === null ? 0 : Number(error.code),
          json: output.trim() === '' ? undefined : JSON.parse(output),
          notes: notes.trim(),
        });
      },
    );
  });
}

type Answer =
  | 'hang-up'
  | { readonly status: number; readonly body: object; readonly headers?: Record<string, string> };

/** The server listens on the loopback, and ends with the test. */
async function originOf(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The server gives these answers in order, and the last one for ever. */
async function serve(answers: readonly Answer[]) {
  const asked: { readonly line: string; readonly key: string | undefined }[] = [];
  const give = (answer: Answer | undefined, response: ServerResponse) => {
    if (answer === undefined || answer === 'hang-up') return response.destroy();
    return response
      .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
      .end(JSON.stringify(answer.body));
  };
  const server = createServer((request, response) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push({
      line: `${request.method} ${request.url}`,
      key: request.headers['idempotency-key'] as string | undefined,
    });
    request.resume().on('end', () => give(answer, response));
  });
  return { url: await originOf(server), asked };
}

/** Passes requests on to the bridge, and drops the first answer to a command. */
async function serveDropping(bridge: string) {
  let isDropped = false;
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        ['authorization', 'content-type', 'idempotency-key', 'prefer'].includes(name)
          ? [[name, String(value)]]
          : [],
      ),
    );
    const method = request.method ?? 'GET';
    const answer = await fetch(`${bridge}${request.url}`, {
      method,
      headers,
      ...(method !== 'GET' && { body: Buffer.concat(parts) }),
    });
    const text = await answer.text();
    if (method !== 'GET' && !isDropped) {
      isDropped = true;
      return response.destroy();
    }
    const passed = [...answer.headers].filter(([name]) => /^(bridge-|content-type|idempotency-)/.test(name));
    return response.writeHead(answer.status, Object.fromEntries(passed)).end(text);
  };
  const server = createServer((request, response) => void pass(request, response));
  return originOf(server);
}

describe('operations-bridge run', { timeout: 120_000 }, () => {
  test.each([
    ['a password', CREATED],
    ['a password and more than is kept', { ...CREATED, notes: 'x'.repeat(70_000) }],
    ['no secret', { ...CREATED, roles: [] }],
  ])('follows the first command to its end when its answer, with %s, was lost', async (_what, created) => {
    const { api, upstream } = await openApi(() => Response.json(created, { status: 201 }));
    const url = await serveDropping(await listen(api));
    const { code, json, notes } = await run(url, await api.issueToken({ validForMs: 86_400_000 }), [
      ...CREATE,
      '--wait',
      '--timeout',
      '20s',
    ]);

    expect({ code, outcome: json.outcome }).toEqual({ code: 0, outcome: 'succeeded' });
    expect(json.end.operations).toMatchObject([{ operation_id: OPERATION.id }]);
    expect(notes).not.toContain('a-role-password');
    expect(upstream.sent).toHaveLength(1);
  });

  test('says of an answer without its secrets where to ask for them', async () => {
    const { api } = await openApi(() => Response.json(CREATED, { status: 201 }));
    const url = await serveDropping(await listen(api));
    const { code, json, notes } = await run(url, await api.issueToken({ validForMs: 86_400_000 }), CREATE);

    expect([code, json.answer.roles]).toEqual([0, [{ name: 'owner', password: '' }]]);
    expect(notes).toContain(
      `run GET /api/v2/projects/${PROJECT_ID}/connection_uri?branch_id=br-lost-answer-1`,
    );
  });
});

const problem = (status: number, type: string): Answer => ({
  status,
  body: { type: `urn:operations-bridge:problem:${type}`, detail: 'It says why.' },
});
const plain = (status: number): Answer => ({ status, body: { message: 'It says why.' } });

describe('the exit code of operations-bridge run', { timeout: 120_000 }, () => {
  test.each<[string, readonly Answer[], number, string]>([
    ['3 when no attempt was answered', ['hang-up'], 3, 'unknown'],
    ['3 when the outcome of the first request is unknown', [problem(409, 'outcome-unknown')], 3, 'unknown'],
    ['3 when the first request is still in progress', [problem(409, 'in-progress')], 3, 'unknown'],
    ['3 when the upstream gave no usable answer', [problem(502, 'upstream-unavailable')], 3, 'unknown'],
    ['3 when the upstream answers that it took too long', [plain(408)], 3, 'unknown'],
    ['3 when a proxy answers in place of the bridge', [plain(502)], 3, 'unknown'],
    ['3 when a lost answer is followed by a freeze', ['hang-up', problem(503, 'frozen')], 3, 'unknown'],
    ['2 when a freeze is the only answer', [problem(503, 'frozen')], 2, 'refused'],
    ['2 when the upstream refuses after a lost answer', ['hang-up', plain(423)], 2, 'refused'],
    ['2 when the upstream names a conflict after a lost answer', ['hang-up', plain(409)], 2, 'refused'],
    ['2 when the upstream refuses', [plain(404)], 2, 'refused'],
    ['0 when the first request has issued a secret', [problem(409, 'secret-already-issued')], 0, 'done'],
  ])('is %s', async (_what, answers, code, outcome) => {
    const { url, asked } = await serve(answers);
    const ended = await run(url, 'opb_a-token', [...CREATE, '--idempotency-key', 'deploy-7']);

    expect([ended.code, ended.json.outcome]).toEqual([code, outcome]);
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(['deploy-7']));
    if (code === 3) expect(ended.notes).toContain('--idempotency-key deploy-7');
    if (answers.every((answer) => answer === 'hang-up'))
      expect(ended.notes).toMatch(/^The bridge at \S+ does not answer \(.+\)\.$/m);
  });

  test('is 2 when nothing listens at the address, for then nothing was done', async () => {
    const closed = createServer();
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
    const { port } = closed.address() as AddressInfo;
    await new Promise((done) => closed.close(done));
    const { code, json, notes } = await run(`http://127.0.0.1:${port}`, 'opb_a-token', CREATE);

    expect([code, json]).toEqual([2, undefined]);
    expect(notes).toContain('does not answer');
  });

  test('is 2 when no encrypted connection comes about, for then nothing was sent', async () => {
    const { url, asked } = await serve([plain(404)]);
    const { code, json, notes } = await run(url.replace('http:', 'https:'), 'opb_a-token', CREATE);

    expect([code, json]).toEqual([2, undefined]);
    expect(notes).toContain('does not answer');
    expect(asked).toEqual([]);
  });

  test('is 1 for a read that a proxy answers', async () => {
    const { url } = await serve([plain(502)]);
    const { code, json } = await run(url, 'opb_a-token', ['run', 'GET', '/projects', '--json']);

    expect([code, json.outcome]).toEqual([1, 'failed']);
  });

  test.each(['run', 'wait'])('of %s is 3 when a command in line ended as unknown', async (subcommand) => {
    const command = {
      command_id: 'request-1',
      project_id: PROJECT_ID,
      state: 'unknown',
      reason: 'Nobody knows.',
    };
    const { url } = await serve([
      { status: 202, body: { command } },
      { status: 200, body: { command } },
    ]);
    const args =
      subcommand === 'run' ? [...CREATE, '--queue', '--wait'] : ['wait', 'command', 'request-1', '--json'];
    const { code, json } = await run(url, 'opb_a-token', args);

    expect([code, json.outcome]).toEqual([3, 'unknown']);
  });
});
