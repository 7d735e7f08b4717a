/** Sends commands through a bridge that `npm start` runs: its own queue, worker and handlers, over HTTP. */

import { expect, test } from 'vitest';
import { runLocalBridge } from '../../infra/local/local-bridge.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { parseStartOptions } from './start-options.ts';

interface RunningBridge {
  readonly api: string;
  readonly token: string;
}

/** Runs a bridge until `use` has ended. The lines that it prints name the address of its API and a token. */
async function withBridge(use: (bridge: RunningBridge) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const started = Promise.withResolvers<RunningBridge>();
  let printed = '';
  const print = (line: string) => {
    printed += `${line}\n`;
    const api = /^ *API +(\S+)/m.exec(printed)?.[1];
    const token = /^ *token +(opb_\S+)/m.exec(printed)?.[1];
    if (api !== undefined && token !== undefined) started.resolve({ api, token });
  };
  const options = parseStartOptions(['--projects', '2', '--speed', '5'], {});
  const surroundings = { signal: stop.signal, print, style: { isColoured: false }, clock: systemClock };
  const running = runLocalBridge(options, surroundings);
  running.catch(started.reject);
  try {
    await use(await started.promise);
  } finally {
    stop.abort();
    await running;
  }
}

test('commands in line are sent by the worker one after the other', {
  timeout: 120_000,
}, async () => {
  await withBridge(async ({ api, token }) => {
    const ask = async (method: string, path: string, body?: object) => {
      const headers = {
        authorization: `Bearer ${token}`,
        prefer: 'respond-async',
        ...(body && { 'content-type': 'application/json' }),
      };
      const response = await fetch(`${api}${path}`, { method, headers, body: JSON.stringify(body) ?? null });
      // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
      return { status: response.status, body: (await response.json()) as any };
    };
    const projectId = (await ask('GET', '/api/v2/projects')).body.projects[0].id as string;
    const branches = `/api/v2/projects/${projectId}/branches`;

    const accepted: Awaited<ReturnType<typeof ask>>[] = [];
    for (const name of ['first', 'second', 'third'])
      accepted.push(await ask('POST', branches, { branch: { name } }));

    expect(accepted.map(({ status }) => status)).toEqual([202, 202, 202]);
    const commands = async () => {
      const found = accepted.map(({ body }) => ask('GET', `/bridge/v1/commands/${body.command.command_id}`));
      return (await Promise.all(found)).map(({ body }) => body.command);
    };
    // Some operations of the simulated service fail, so only the answer to the command is certain to be a success.
    const isSent = ({ answer }: { answer?: { status: number } }) => answer?.status === 201;
    await expect.poll(async () => (await commands()).every(isSent), { timeout: 90_000 }).toBe(true);
    const ends = await commands();
    const left = ends.map(({ left_line_at }) => left_line_at as string);
    expect(left).toEqual(left.toSorted());
    const listed = (await ask('GET', branches)).body.branches as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(['first', 'second', 'third']));
  });
});
