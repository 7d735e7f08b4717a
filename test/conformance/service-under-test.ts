/** Starts the service as a client sees it over HTTP: the simulated one, or the same one behind the bridge. */

import { onTestFinished } from 'vitest';
import {
  type LocalUpstream,
  startUpstream,
  type UpstreamOptions,
} from '../../infra/simulator/start-upstream.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import type { Call } from '../../shared/upstream/calls/call.ts';
import { type CallId, calls } from '../../shared/upstream/calls/calls.ts';
import { createApiUnderTest, listen } from '../api/api-under-test.ts';

export const KEY = 'conformance-key';

export const DOOR = process.env['CONFORMANCE_DOOR'] === 'bridge' ? 'bridge' : 'service';

/** Every operation of the simulation ends within this time, which is shorter than the suspend time-out. */
export const SETTLING_MS = 60_000;

export interface Request {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** This body is sent unchanged, instead of JSON. */
  readonly raw?: { readonly text: string; readonly contentType: string };
  readonly key?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

export type Service = Awaited<ReturnType<typeof startService>>;

/** Starts a service with two projects in which nothing happens by itself and nothing fails. */
export async function startService(options: Partial<UpstreamOptions> = {}) {
  const upstream = await startUpstream({
    seed: 3,
    projectCount: 2,
    sessionsPerHour: 0,
    historyMs: 1_000,
    trouble: 0,
    apiKeys: [KEY],
    ...options,
  });
  onTestFinished(() => upstream.close());
  return serviceOf(upstream, await openDoor(upstream));
}

/** The bridge under test allows a caller 700 requests a minute, which is one every 86 ms. */
const REQUEST_MS = 100;

/** Requests enter here: at the service itself, or at the bridge in front of it. */
interface Door {
  readonly baseUrl: string;
  readonly key: string;
}

async function openDoor({ baseUrl }: LocalUpstream): Promise<Door> {
  if (DOOR === 'service') return { baseUrl, key: KEY };
  let requestCount = 0;
  const api = createApiUnderTest({
    upstreamBaseUrl: baseUrl,
    upstreamKey: KEY,
    fetch: (...request) => {
      requestCount += 1;
      return fetch(...request);
    },
    // Each request moves the clock on, so that the caller's allowance refills however fast the machine is.
    clock: { ...systemClock, now: () => systemClock.now() + requestCount * REQUEST_MS },
  });
  return { baseUrl: `${await listen(api)}/api/v2`, key: await api.issueToken() };
}

function serviceOf(upstream: LocalUpstream, door: Door) {
  const { origin } = new URL(upstream.baseUrl);
  const [project, other] = upstream.world().projects();
  const [branchId] = [...(project?.branches.keys() ?? [])];
  const endpointId = project?.computes[0]?.endpoint_id;
  if (project === undefined || other === undefined || branchId === undefined || endpointId === undefined)
    throw new Error('The simulated service has too few projects');

  const send = async (method: string, path: string, request: Request = {}): Promise<Answer> => {
    const url = new URL(`${door.baseUrl}${path}`);
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value);
    const key = 'key' in request ? request.key : door.key;
    const sent = request.raw ?? { text: JSON.stringify(request.body), contentType: 'application/json' };
    const hasBody = request.raw !== undefined || request.body !== undefined;
    const response = await fetch(url, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        // The bridge would wait for a lock to be released; these tests need the answer of the service at once.
        prefer: 'wait=0',
        ...(hasBody ? { 'content-type': sent.contentType } : {}),
      },
      ...(hasBody ? { body: sent.text } : {}),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };

  const control = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(`${origin}/_control${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  };

  const service = {
    upstream,
    baseUrl: door.baseUrl,
    key: door.key,
    projectId: project.id,
    otherProjectId: other.id,
    branchId,
    endpointId,
    send,
    control,
    call: (id: CallId, request: Request = {}) => {
      const { method, path }: Call = calls[id];
      const ids: Readonly<Record<string, string>> = {
        project_id: project.id,
        endpoint_id: endpointId,
        ...request.ids,
      };
      return send(
        method,
        path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ''),
        request,
      );
    },
    pass: async (durationMs: number) => void (await control('POST', '/time', { pass_ms: durationMs })),
    /** Creates a branch without a compute and returns its id. */
    async emptyBranch(): Promise<string> {
      const { body } = await send('POST', `/projects/${project.id}/branches`, { body: {} });
      await service.pass(SETTLING_MS);
      return body.branch.id as string;
    },
    async wake(id = endpointId): Promise<void> {
      await control('POST', `/projects/${project.id}/endpoints/${id}/connect`);
      await service.pass(SETTLING_MS);
    },
    async endpoint(id = endpointId): Promise<Answer['body']> {
      const { body } = await service.call('listEndpoints');
      return body.endpoints.find((endpoint: { id: string }) => endpoint.id === id);
    },
    async withAuth(): Promise<Answer['body']> {
      const body = { auth_provider: 'stack', project_id: project.id, branch_id: branchId };
      return (await service.call('createAuthIntegration', { body })).body;
    },
  };
  return service;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
