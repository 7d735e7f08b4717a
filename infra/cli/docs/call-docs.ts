/** Writes the list of calls in docs/upstream.md, and the lists of scopes and bundles in docs/api.md. */

import { SCOPE_BUNDLES } from '../../../shared/callers/scope-bundles.ts';
import { SCOPE_MEANINGS, SCOPES, SCOPES_BY_NAME, type Scope } from '../../../shared/callers/scopes.ts';
import { type CallId, calls } from '../../../shared/upstream/calls/calls.ts';
import type { PublicCall } from '../../../shared/upstream/public-calls/public-call.ts';
import { publicCalls } from '../../../shared/upstream/public-calls/public-calls.ts';
import { createUpstreamApp } from '../../simulator/app.ts';
import { type GeneratedFile, withSection } from './generated-section.ts';

interface DocumentedCall {
  readonly id: string;
  /** The text looks like `GET /projects/{project_id}`. */
  readonly request: string;
  readonly scope: Scope;
  readonly origin: 'specification' | 'public API';
  readonly isClosed: boolean;
}

export function callDocs(): readonly GeneratedFile[] {
  return [
    withSection('docs/upstream.md', 'calls', callList()),
    withSection('docs/api.md', 'scopes', `Scopes:\n\n${scopeList()}\n\nBundles:\n\n${bundleList()}`),
  ];
}

function documentedCalls(): readonly DocumentedCall[] {
  const specified = (Object.keys(calls) as CallId[]).map((id) => ({
    id,
    request: `${calls[id].method} ${calls[id].path}`,
    scope: calls[id].scope,
    origin: 'specification' as const,
    isClosed: false,
  }));
  const further = Object.entries<PublicCall>(publicCalls).map(
    ([id, { request, scope, isClosed = false }]) => ({
      id,
      request,
      scope,
      origin: 'public API' as const,
      isClosed,
    }),
  );
  return [...specified, ...further];
}

/** The routes of the simulator itself, so that the list cannot promise what the simulator does not have. */
function simulatedRequests(): ReadonlySet<string> {
  // The app is built and never asked, so nothing of what its answers need is used.
  const { routes } = createUpstreamApp({} as never);
  return new Set(
    routes
      .filter(({ path }) => path.startsWith('/api/v2/'))
      .map(({ method, path }) => shapeOf(`${method} ${path.slice('/api/v2'.length)}`)),
  );
}

function shapeOf(request: string): string {
  return request.replace(/\{\w+\}|:\w+(\{[^}]*\})?/g, '{}');
}

function callList(): string {
  const simulated = simulatedRequests();
  const rows = documentedCalls()
    .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
    .map(({ id, request, scope, origin, isClosed }) => {
      const isSimulated = simulated.has(shapeOf(request));
      const marks = [
        ...(origin === 'specification' ? ['schema'] : []),
        ...(isSimulated ? ['simulated'] : []),
        ...(isClosed ? ['closed'] : []),
      ];
      return `- \`${request}\`: ${[`\`${id}\``, `\`${scope}\``, ...marks].join(', ')}`;
    });
  return rows.join('\n');
}

/** By path first, so that the calls of one thing stand together. */
function sortKey({ request }: DocumentedCall): string {
  const [method = '', path = ''] = request.split(' ');
  return `${path} ${method}`;
}

function scopeList(): string {
  const rows = SCOPES.map((scope) => {
    const isByName = SCOPES_BY_NAME.has(scope) ? ' Only by its name.' : '';
    return `- \`${scope}\`: ${SCOPE_MEANINGS[scope]}${isByName}`;
  });
  return rows.join('\n');
}

function bundleList(): string {
  const rows = Object.entries(SCOPE_BUNDLES).map(
    ([name, { meaning, scopes }]) => `- \`${name}\` (${scopes.length} scopes): ${meaning}`,
  );
  return rows.join('\n');
}
