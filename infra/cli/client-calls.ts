/** Derives the calls of the public API from what its two public clients declare, and compares them with the bridge's own table. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allCalls } from '../../shared/upstream/calls/calls.ts';

export interface ClientCall {
  /** As `GET /projects`. */
  readonly request: string;
  /** The names of its query parameters, as far as the client names them apart from the body. */
  readonly query: readonly string[];
}

export interface CallComparison {
  /** What a client declares and the bridge's table has not: a call, or a parameter as `GET /projects?search`. */
  readonly lacking: readonly string[];
  /** Calls of the bridge that neither client has. */
  readonly gone: readonly string[];
}

/** Reads what both installed packages declare: the older one has calls that the newer one has not, and the other way round. */
export function clientCalls(): readonly ClientCall[] {
  return [...callsOfApiClient(), ...callsOfSdk()];
}

/** Every method of `@neondatabase/api-client` is declared with a comment that has a line such as `@request GET:/projects`. */
function callsOfApiClient(): readonly ClientCall[] {
  const declarations = textOf('@neondatabase/api-client/dist/api.gen.d.ts');
  const found = declarations.matchAll(/@request ([A-Z]+):(\/\S+)/g);
  return [...found].map(([, method = '', path = '']) => ({ request: `${method} ${path}`, query: [] }));
}

/** `@neon/sdk` has a function for each call, and a type with the name of the function, which declares the query. */
function callsOfSdk(): readonly ClientCall[] {
  const functions = textOf('@neon/sdk', 'client/sdk.gen.js').matchAll(
    /const (\w+) = \(options\) => \(options\??\.client \?\? client\)\.(\w+)\(\{.*?\turl: "([^"]+)"/gs,
  );
  const types = textOf('@neon/sdk', 'client/types.gen.d.ts').replace(/\/\*\*.*?\*\//gs, '');
  return [...functions].map(([, name = '', method = '', url = '']) => ({
    request: `${method.toUpperCase()} ${url}`,
    query: queryIn(types, name),
  }));
}

function queryIn(types: string, name: string): readonly string[] {
  const start = types.indexOf(`export type ${name[0]?.toUpperCase()}${name.slice(1)}Data = {`);
  const declaration = types.slice(start, types.indexOf('\n};', start));
  const query = /\n {4}query\??: \{(.*?)\n {4}\};/s.exec(declaration)?.[1] ?? '';
  return [...query.matchAll(/^ {8}(\w+)\??:/gm)].map(([, parameter = '']) => parameter);
}

/** A package that exports only its entry is read beside it. */
function textOf(specifier: string, beside?: string): string {
  const entry = import.meta.resolve(specifier);
  return readFileSync(fileURLToPath(beside === undefined ? entry : new URL(beside, entry)), 'utf8');
}

/** Returns the calls of the specification and those of the public API together, in the same form. */
export function ownCalls(): readonly ClientCall[] {
  return Object.values(allCalls).map(({ method, path, query, declared }) => ({
    request: `${method} ${path}`,
    query: declared?.query ?? Object.keys(query?.shape ?? {}),
  }));
}

export function compareCalls(ofClient: readonly ClientCall[], own: readonly ClientCall[]): CallComparison {
  const known = new Map(own.map((call) => [shapeOf(call), call]));
  const declared = new Set(ofClient.map(shapeOf));
  const lackingOf = (call: ClientCall) => {
    const ours = known.get(shapeOf(call));
    if (ours === undefined) return [call.request];
    return call.query.filter((name) => !ours.query.includes(name)).map((name) => `${call.request}?${name}`);
  };
  return {
    lacking: [...new Set(ofClient.flatMap(lackingOf))],
    gone: own.filter((call) => !declared.has(shapeOf(call))).map(({ request }) => request),
  };
}

/** The clients and the specification give some ids other names, which mean nothing in a path. */
function shapeOf({ request }: ClientCall): string {
  return request.replace(/\{\w+\}/g, '{}');
}
