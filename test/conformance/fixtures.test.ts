/**
 * Compares what the public service answered with what the simulated one answers: the same fields, of the same types.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answer, DOOR, SETTLING_MS, type Service, startService } from './service-under-test.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/upstream');
const read = (file: string): unknown => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));

interface Example {
  readonly file: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

const ENDPOINT = '/projects/{project_id}/endpoints/{endpoint_id}';

/** Makes the simulated service answer the same call. The compute is active beforehand. */
const answers: Readonly<Record<string, (service: Service) => Promise<Answer>>> = {
  'GET /projects': (service) => service.call('listProjects'),
  'GET /projects/{project_id}/operations': (service) => service.call('listOperations'),
  'GET /projects/{project_id}/operations/{operation_id}': async (service) => {
    const { operations } = (await service.call('listOperations')).body;
    const started = operations.find(({ action }: { action: string }) => action === 'start_compute');
    return service.call('getOperation', { ids: { operation_id: started.id } });
  },
  'POST /projects/{project_id}/endpoints': (service) =>
    service.call('createEndpoint', {
      body: { endpoint: { branch_id: service.branchId, type: 'read_only' } },
    }),
  'GET /projects/{project_id}/endpoints': (service) => service.call('listEndpoints'),
  [`GET ${ENDPOINT}`]: (service) =>
    service.send('GET', `/projects/${service.projectId}/endpoints/${service.endpointId}`),
  [`PATCH ${ENDPOINT}`]: (service) =>
    service.call('updateEndpoint', { body: { endpoint: { pooler_enabled: true } } }),
  [`DELETE ${ENDPOINT}`]: (service) => service.call('deleteEndpoint'),
  [`POST ${ENDPOINT}/start`]: async (service) => {
    await service.send('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/suspend`);
    await service.pass(SETTLING_MS);
    return service.send('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/start`);
  },
  [`POST ${ENDPOINT}/suspend`]: (service) =>
    service.send('POST', `/projects/${service.projectId}/endpoints/${service.endpointId}/suspend`),
  [`POST ${ENDPOINT}/restart`]: (service) => service.call('restartEndpoint'),
  'POST /projects/auth/create': (service) =>
    service.call('createAuthIntegration', { body: { ...ofProject(service), branch_id: service.branchId } }),
  'GET /projects/{project_id}/auth/integrations': async (service) => {
    await service.withAuth();
    return service.call('listAuthIntegrations');
  },
  'POST /projects/auth/keys': async (service) => {
    await service.withAuth();
    return service.call('createAuthKeys', { body: ofProject(service) });
  },
  'POST /projects/auth/user': async (service) => {
    await service.withAuth();
    return service.call('createAuthUser', { body: { ...ofProject(service), email: 'ada@example.com' } });
  },
  'POST /projects/auth/transfer_ownership': async (service) => {
    await service.withAuth();
    return service.call('transferAuthOwnership', { body: ofProject(service) });
  },
  'GET /api_keys': (service) => service.send('GET', '/api_keys'),
  'POST /api_keys': (service) => service.send('POST', '/api_keys', { body: { key_name: 'a-key' } }),
  'DELETE /api_keys/{key_id}': async (service) => {
    const { body } = await service.send('POST', '/api_keys', { body: { key_name: 'a-key' } });
    // The key is used once, because the keys of the examples were.
    await service.send('GET', '/projects', { key: body.key });
    return service.send('DELETE', `/api_keys/${body.id}`);
  },
};

const ofProject = ({ projectId }: Service) => ({ project_id: projectId, auth_provider: 'stack' });

/**
 * An example may have these fields and today's answer may lack them: they are optional, or come from another time of
 * the service.
 */
const MAY_BE_ABSENT: ReadonlySet<string> = new Set([
  // The contract makes these fields of operations optional.
  'endpoint_id',
  'error',
  'retry_at',
  // A compute has these only after its first activity, while a change is pending, or when they were given.
  'last_active',
  'started_at',
  'suspended_at',
  'pending_state',
  'name',
  'compute_release_version',
  // These fields of projects are of older times (the specification's `locked` among them), or of states that the
  // simulation lacks.
  'locked',
  'compute_last_active_at',
  'maintenance_scheduled_for',
  'owner',
  'pagination',
  'applications',
  'integrations',
]);

type Shape = string | readonly Shape[] | { readonly [name: string]: Shape };

/**
 * Compares objects field by field, arrays by the fields of all their items, and other values by their type. Settings
 * are free-form, so their fields are not compared.
 */
function missingFields(example: unknown, answer: unknown, path = ''): readonly string[] {
  if (Array.isArray(example) && Array.isArray(answer)) {
    const [first] = answer;
    return first === undefined
      ? []
      : [...new Set(example.flatMap((item) => missingFields(item, first, `${path}[]`)))];
  }
  if (!isObject(example) || !isObject(answer)) {
    const isSameType = typeof example === typeof answer && Array.isArray(example) === Array.isArray(answer);
    return isSameType || example === null ? [] : [`${path}: ${typeof answer} instead of ${typeof example}`];
  }
  if (path.endsWith('settings')) return [];
  return Object.entries(example).flatMap(([name, value]) => {
    if (name in answer) return missingFields(value, answer[name], path === '' ? name : `${path}.${name}`);
    return MAY_BE_ABSENT.has(name) ? [] : [`${path}.${name} is missing`];
  });
}

function isObject(value: unknown): value is Record<string, Shape> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const examples = (read('index.json') as readonly Example[]).filter(
  ({ method, path, file }) => `${method} ${path}` in answers && !file.startsWith('climock.'),
);

describe('an example of the public service', () => {
  /** Through the bridge the calls of the service's own keys cannot be reached. */
  const isSeen = ({ path }: Example) => DOOR === 'service' || !path.includes('api_keys');

  test.each(examples.filter(isSeen))(
    '$file: $method $path has no field that the simulated service lacks',
    async (example) => {
      const service = await startService();
      await service.wake();

      const answer = await answers[`${example.method} ${example.path}`]?.(service);

      expect(answer?.status).toBe(example.status);
      expect(missingFields(read(example.file), answer?.body)).toEqual([]);
    },
  );

  test('exists for every call that is compared', () => {
    const compared = new Set(examples.map(({ method, path }) => `${method} ${path}`));

    expect(Object.keys(answers).filter((call) => !compared.has(call))).toEqual([]);
  });
});
