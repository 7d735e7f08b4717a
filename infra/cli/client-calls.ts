/** Derives the calls of the public API from the declarations of its client, and compares them with the bridge's own table. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { calls } from '../../shared/upstream/calls/calls.ts';
import { publicCalls } from '../../shared/upstream/public-calls/public-calls.ts';

export interface CallComparison {
  /** Calls of the client that the bridge does not pass on, as `GET /projects`. */
  readonly lacking: readonly string[];
  /** Calls of the bridge that the client does not have. */
  readonly gone: readonly string[];
}

/** Reads the calls that the installed client declares, as `GET /projects/{project_id}`. */
export function clientCalls(): readonly string[] {
  const file = import.meta.resolve('@neondatabase/api-client/dist/api.gen.d.ts');
  return callsIn(readFileSync(fileURLToPath(file), 'utf8'));
}

/** Every method of the client is declared with a comment that has a line such as `@request GET:/projects`. */
function callsIn(declarations: string): readonly string[] {
  const found = declarations.matchAll(/@request ([A-Z]+):(\/\S+)/g);
  return [...found].map(([, method = '', path = '']) => `${method} ${path}`);
}

/** Returns the table of the specification and the table of the public API together, in the same form. */
export function ownCalls(): readonly string[] {
  const specified = Object.values(calls).map(({ method, path }) => `${method} ${path}`);
  return [...specified, ...Object.values(publicCalls).map(({ request }) => request)];
}

export function compareCalls(ofClient: readonly string[], own: readonly string[]): CallComparison {
  const [known, declared] = [new Set(own.map(shapeOf)), new Set(ofClient.map(shapeOf))];
  return {
    lacking: ofClient.filter((call) => !known.has(shapeOf(call))),
    gone: own.filter((call) => !declared.has(shapeOf(call))),
  };
}

/** The client and the specification give some ids other names, which mean nothing in a path. */
function shapeOf(call: string): string {
  return call.replace(/\{\w+\}/g, '{}');
}
