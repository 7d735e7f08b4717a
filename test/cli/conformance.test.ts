import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createUpstreamService } from '../../infra/simulator/start-upstream.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { createStandingClock } from '../doors/command-line/standing-clock.ts';
import { aFolder } from '../local/a-folder.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const KEY = 'conformance-canary-key';

interface Body {
  readonly operations?: readonly Readonly<Record<string, unknown>>[];
  readonly projects?: readonly Readonly<Record<string, unknown>>[];
  readonly pagination?: { readonly cursor?: string };
}

type Change = (body: Body, url: URL) => Body;

/** A simulated service whose answers are changed on their way, and the requests that it got. */
async function anUpstream(
  change: Change = (body) => body,
  status: (url: URL) => number | undefined = () => undefined,
) {
  const asked: { readonly method: string; readonly atMs: number }[] = [];
  const { app } = createUpstreamService({
    seed: 4,
    projectCount: 3,
    apiKeys: [KEY],
    sessionsPerHour: 30,
    trouble: 3,
  });
  const fetch = async (request: Request): Promise<Response> => {
    asked.push({ method: request.method, atMs: clock.now() });
    const url = new URL(request.url);
    const forced = status(url);
    const answer = await app.fetch(request);
    if (answer.status !== 200)
      return new Response(answer.body, { status: forced ?? answer.status, headers: answer.headers });
    const body = change((await answer.json()) as Body, url);
    return Response.json(body, { status: forced ?? 200, headers: { 'x-request-id': 'r' } });
  };
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server;
  if (!server.listening) await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { asked, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2` };
}

/** The pauses between requests take no real time, and the time that an answer may take passes only without one. */
let clock: Clock = systemClock;

function clockFor(baseUrl: string): Clock {
  const standing = createStandingClock(0, new URL(baseUrl).origin);
  onTestFinished(() => standing[Symbol.dispose]());
  clock = standing;
  return clock;
}

async function conformance(baseUrl: string, ...args: readonly string[]) {
  const environment = { UPSTREAM_API_KEY: KEY };
  const ran = await runSubcommand(['conformance', '--upstream', baseUrl, '--json', ...args], {
    environment,
    clock: clockFor(baseUrl),
  });
  const { lines } = ran.json() as {
    readonly lines: readonly { id: string; verdict: string; found: string }[];
  };
  const named = (verdict: string) => lines.filter((line) => line.verdict === verdict).map(({ id }) => id);
  return { ...ran, lines, different: named('different'), notSeen: named('not seen') };
}

describe('conformance', { timeout: 60_000 }, () => {
  test('finds the simulated service as the notes say, with reads only and 30 requests a minute', async () => {
    const { asked, baseUrl } = await anUpstream();
    const { code, different, notSeen } = await conformance(baseUrl);

    expect(different).toEqual([]);
    expect(code).toBe(0);
    expect(notSeen).toEqual(['1 cursor at the end', '4 lock']);
    expect(new Set(asked.map(({ method }) => method))).toEqual(new Set(['GET']));
    const spanMs = (asked.at(-1)?.atMs ?? 0) - (asked[0]?.atMs ?? 0);
    expect(spanMs).toBeGreaterThanOrEqual((asked.length - 1) * 2_000);
    expect(asked.length).toBeLessThan(30);
  });

  const sliced = (body: Body, count: number): Body =>
    body.operations === undefined ? body : { ...body, operations: body.operations.slice(0, count) };

  test.each<readonly [string, Change, readonly string[]]>([
    [
      'the oldest operation comes first',
      (body) => (body.operations ? { ...body, operations: body.operations.toReversed() } : body),
      ['1 order', '1 cursor form'],
    ],
    [
      'a page holds fewer rows than were asked for',
      (body, url) => (url.searchParams.get('limit') === '3' ? sliced(body, 2) : body),
      ['1 full pages', '1 cursor form'],
    ],
    [
      'a page holds more rows than were asked for',
      (body, url) =>
        url.searchParams.get('limit') === '3' && body.operations
          ? { ...body, operations: [...body.operations, ...body.operations] }
          : body,
      ['1 order', '1 limit'],
    ],
    [
      'the cursor is no time',
      (body) =>
        body.operations?.length && body.pagination ? { ...body, pagination: { cursor: '2000-01-01' } } : body,
      ['1 cursor form'],
    ],
    [
      'without a limit there are ten operations',
      (body, url) => (url.search === '' ? sliced(body, 10) : body),
      ['1 no limit'],
    ],
    [
      'times have fractions of seconds',
      (body) => ({
        ...body,
        ...(body.operations && {
          operations: body.operations.map((row) => ({ ...row, updated_at: '2026-01-15T12:00:00.5Z' })),
        }),
      }),
      ['2 whole seconds'],
    ],
    [
      'a row lacks a field and has a status that is new',
      (body) => ({
        ...body,
        ...(body.operations && {
          operations: body.operations.map((row) => ({ ...row, failures_count: undefined, status: 'paused' })),
        }),
      }),
      ['2 fields', '2 statuses'],
    ],
    [
      'the cursor of the projects is another one',
      (body) => (body.projects ? { ...body, pagination: { cursor: 'another' } } : body),
      ['5 projects cursor', '5 projects order'],
    ],
  ])('reports that it is different when %s', async (_what, change, expected) => {
    const { baseUrl } = await anUpstream(change);
    const { code, different } = await conformance(baseUrl);

    expect(code).toBe(1);
    expect(different).toEqual(expected);
  });

  test('reports another refusal and a refused reader', async () => {
    const { baseUrl } = await anUpstream(undefined, (url) =>
      url.pathname.endsWith('/endpoints') ? 429 : url.pathname.includes('no-such') ? 403 : undefined,
    );

    expect((await conformance(baseUrl)).different).toEqual(['4 unknown project', '4 refusals']);
  });

  test('writes a report without any id, name or key', async () => {
    const { baseUrl } = await anUpstream();
    const file = join(aFolder(), 'report.json');
    await conformance(baseUrl, '--output', file);
    const report = readFileSync(file, 'utf8');

    expect(report).not.toContain(KEY);
    expect(report).not.toMatch(/[a-z]+-[a-z]+-\d{8}|[0-9a-f]{8}-[0-9a-f]{4}/);
  });

  test('refuses a wrong key, a missing key and an upstream that does not answer, with one sentence', async () => {
    const { baseUrl } = await anUpstream();
    const run = (environment: Readonly<Record<string, string>>, url = baseUrl) =>
      runSubcommand(['conformance', '--upstream', url], { environment, clock: clockFor(url) });

    await expect(run({ UPSTREAM_API_KEY: 'wrong' })).rejects.toThrow(
      /answered 401\); check UPSTREAM_API_KEY/,
    );
    await expect(run({})).rejects.toThrow(/There is no API key/);
    await expect(run({ UPSTREAM_API_KEY: KEY }, 'http://127.0.0.1:1/api/v2')).rejects.toThrow(
      /does not answer/,
    );
    await expect(run({ UPSTREAM_API_KEY: KEY }, 'http://example.com/api/v2')).rejects.toThrow(
      /--upstream is/,
    );
  });
});
