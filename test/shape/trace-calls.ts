/**
 * Notes which functions of `functions` and `shared` are entered, and what crosses the ports of the process, along one causal chain.
 * It is loaded with `--import`, because it changes the sources as Node loads them.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { registerHooks } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Body, functionsIn } from './functions-in.ts';
import { THE_DOOR, WALKS } from './walks.ts';

/** A step is a function that was entered, or the crossing of a port, which stands in no file. */
export interface Step {
  readonly text: string;
  readonly file?: string;
}

export interface Chain {
  readonly start: string;
  readonly steps: Step[];
}

const ROOT = resolve(import.meta.dirname, '../..');
const STARTS: ReadonlySet<string> = new Set(Object.values(WALKS).map(({ start }) => start));

const functions: { readonly name: string; readonly step: Step }[] = [];
const chains: Chain[] = [];
const current = new AsyncLocalStorage<Chain>();

/** Whoever calls `fetch` sends through this one, so that a driver can stand in for a host. */
export const network = { fetch: globalThis.fetch };

/** Calls a door as one chain, and returns what it answers. */
export function throughTheDoor<T>(call: () => Promise<T>): Promise<T> {
  return current.run(beginChain(THE_DOOR), async () => {
    cross('< in');
    const answer = await call();
    cross('> out');
    return answer;
  });
}

/** Sends a request over a port that this file does not watch by itself. */
export async function crossing<T>(text: string, send: () => Promise<T>): Promise<T> {
  cross(`> ${text}`);
  const answer = await send();
  cross(`< ${text}`);
  return answer;
}

/** Returns the chains that have begun since the last call. */
export function takeChains(): readonly Chain[] {
  return chains.splice(0);
}

function beginChain(start: string): Chain {
  const chain: Chain = { start, steps: [] };
  chains.push(chain);
  return chain;
}

function cross(text: string): void {
  current.getStore()?.steps.push({ text });
}

function enter(place: number): void {
  const entered = functions[place];
  if (entered === undefined) return;
  const { name, step } = entered;
  if (STARTS.has(name)) current.enterWith(beginChain(name));
  const chain = current.getStore();
  if (chain !== undefined && chain.steps.at(-1) !== step) chain.steps.push(step);
}

function instrumented(file: string, text: string): string {
  const insertions = functionsIn(file, text).flatMap(({ name, body }) => {
    const place = functions.push({ name, step: { text: `${file}: ${name}`, file } }) - 1;
    return body === undefined ? [] : insertionsOf(body, `__enter(${place})`);
  });
  let changed = text;
  for (const [at, added] of insertions.toSorted((a, b) => b[0] - a[0]))
    changed = changed.slice(0, at) + added + changed.slice(at);
  return changed;
}

function insertionsOf({ start, end, kind }: Body, call: string): readonly (readonly [number, string])[] {
  switch (kind) {
    case 'block':
      return [[start + 1, `${call};`]];
    case 'expression in parentheses':
      return [
        [start, `${call},(`],
        [end, ')'],
      ];
    case 'expression':
      return [
        [start, `(${call},`],
        [end, ')'],
      ];
  }
}

/** The operation of an AWS request stands in its header. */
function crossingOf(request: ClientRequest): string {
  const operation = String(request.getHeader('x-amz-target') ?? '')
    .split('.')
    .at(-1);
  return operation || `${request.method} ${request.host}${request.path}`;
}

Object.assign(globalThis, { __enter: enter });
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : '';
    if (!/^(functions|shared)\/.*\.ts$/.test(file)) return loaded;
    return { ...loaded, source: instrumented(file, new TextDecoder().decode(loaded.source as Uint8Array)) };
  },
});
subscribe('http.client.request.created', (message) => {
  cross(`> ${crossingOf((message as { readonly request: ClientRequest }).request)}`);
});
subscribe('http.client.response.finish', (message) => {
  cross(`< ${crossingOf((message as { readonly request: ClientRequest }).request)}`);
});
globalThis.fetch = (input, init) => {
  const { method, url } = new Request(input, init);
  return crossing(`${method} ${url}`, () => network.fetch(input, init));
};
