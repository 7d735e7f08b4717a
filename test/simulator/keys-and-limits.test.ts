import { describe, expect, test } from 'vitest';
import { MEMBER_ID } from '../../infra/simulator/world/account.ts';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { type Answer, KEY, type Service, startService } from '../conformance/service-under-test.ts';

const MEMBER_KEY = 'member-key';
const ORGANIZATION_KEYS = `/organizations/${ORGANIZATION_ID}/api_keys`;

async function withMember(): Promise<Service> {
  const service = await startService();
  await service.control('POST', '/keys', { key: MEMBER_KEY, user_id: MEMBER_ID });
  return service;
}

const create = (service: Service, path: string, body: object, key?: string): Promise<Answer> =>
  service.send('POST', path, { body, ...(key === undefined ? {} : { key }) });

const statusOf = async (service: Service, key: string, path = '/projects') =>
  (await service.send('GET', path, { key })).status;

describe('a personal key', () => {
  test('can be created by any user, and its secret is shown only once', async () => {
    const service = await withMember();
    const { status, body } = await create(service, '/api_keys', { key_name: 'ci' }, MEMBER_KEY);
    expect(status).toBe(200);
    expect(await statusOf(service, body.key)).toBe(200);

    const list = await service.send('GET', '/api_keys', { key: MEMBER_KEY });
    expect(list.body.map(({ name }: { name: string }) => name)).toEqual(['ci', 'console']);
    expect(list.text).not.toContain(body.key);
  });

  test('can be revoked only by its owner, and stops working at once', async () => {
    const service = await withMember();
    const { body } = await create(service, '/api_keys', { key_name: 'ci' }, MEMBER_KEY);

    expect((await service.send('DELETE', `/api_keys/${body.id}`)).status).toBe(404);
    expect((await service.send('DELETE', `/api_keys/${body.id}`, { key: MEMBER_KEY })).status).toBe(200);
    expect(await statusOf(service, body.key)).toBe(401);
    expect((await service.send('DELETE', `/api_keys/${body.id}`, { key: MEMBER_KEY })).status).toBe(404);
  });

  test('loses access to projects of the organization when its user leaves it', async () => {
    const service = await withMember();
    const project = `/projects/${service.projectId}/operations`;
    expect(await statusOf(service, MEMBER_KEY, project)).toBe(200);
    await service.control('DELETE', `/members/${MEMBER_ID}`);

    expect(await statusOf(service, MEMBER_KEY, project)).toBe(404);
    expect((await service.send('GET', '/projects', { key: MEMBER_KEY })).body.projects).toEqual([]);
  });

  test.each(['', 'x'.repeat(65)])(
    'has a name of 1 to 64 characters, and "%s" is refused',
    async (key_name) => {
      expect((await create(await startService(), '/api_keys', { key_name })).status).toBe(400);
    },
  );
});

describe('an organization key', () => {
  test('can be created only by an administrator with a personal key', async () => {
    const service = await withMember();
    const made = await create(service, ORGANIZATION_KEYS, { key_name: 'all' });
    expect(made.status).toBe(200);
    expect(await statusOf(service, made.body.key)).toBe(200);

    expect((await create(service, ORGANIZATION_KEYS, { key_name: 'all' }, MEMBER_KEY)).status).toBe(403);
    expect((await create(service, ORGANIZATION_KEYS, { key_name: 'all' }, made.body.key)).status).toBe(404);
    expect((await create(service, '/api_keys', { key_name: 'mine' }, made.body.key)).status).toBe(404);
  });

  test('can be revoked only by administrators', async () => {
    const service = await withMember();
    const { body } = await create(service, ORGANIZATION_KEYS, { key_name: 'all' });
    const path = `${ORGANIZATION_KEYS}/${body.id}`;

    expect((await service.send('DELETE', path, { key: MEMBER_KEY })).status).toBe(403);
    expect((await service.send('DELETE', path)).status).toBe(200);
    expect(await statusOf(service, body.key)).toBe(401);
  });
});

describe('a project that leaves the organization', () => {
  const seenBy = async (service: Service, key: string) => {
    const { body } = await service.send('GET', '/projects', { key });
    const status = await statusOf(service, key, `/projects/${service.projectId}/operations`);
    return { status, isListed: body.projects.some(({ id }: { id: string }) => id === service.projectId) };
  };
  const lost = { status: 404, isListed: false };
  const kept = { status: 200, isListed: true };

  test("is lost to the organization's keys and to its members, and not to the administrator who moved it", async () => {
    const service = await withMember();
    const { key } = (await create(service, ORGANIZATION_KEYS, { key_name: 'all' })).body;
    for (const each of [key, MEMBER_KEY, KEY]) expect(await seenBy(service, each)).toEqual(kept);

    await service.control('POST', `/projects/${service.projectId}/leave-organization`);

    for (const each of [key, MEMBER_KEY]) expect(await seenBy(service, each)).toEqual(lost);
    expect(await seenBy(service, KEY)).toEqual(kept);
    expect(await statusOf(service, key, `/projects/${service.otherProjectId}/operations`)).toBe(200);
  });

  test('gets no new key of the organization', async () => {
    const service = await startService();
    await service.control('POST', `/projects/${service.projectId}/leave-organization`);
    const request = { key_name: 'one', project_id: service.projectId };

    expect((await create(service, ORGANIZATION_KEYS, request)).status).toBe(404);
  });
});

describe('a project-scoped key', () => {
  const scoped = async (service: Service, key?: string) =>
    create(service, ORGANIZATION_KEYS, { key_name: 'one', project_id: service.projectId }, key);

  test('can be created by any member, and acts only on its project', async () => {
    const service = await withMember();
    const { status, body } = await scoped(service, MEMBER_KEY);
    expect(status).toBe(200);

    const own = await service.send('GET', `/projects/${service.projectId}/operations`, { key: body.key });
    const other = await service.send('GET', `/projects/${service.otherProjectId}/operations`, {
      key: body.key,
    });
    const list = await service.send('GET', '/projects', { key: body.key });
    expect([own.status, other.status, list.status]).toEqual([200, 404, 404]);
    expect(list.body.message).toBe(
      `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${service.projectId}"`,
    );
  });

  test('is limited to its project also when the body names another project', async () => {
    const service = await withMember();
    const { body } = await scoped(service);
    const request = {
      auth_provider: 'stack',
      project_id: service.otherProjectId,
      branch_id: service.branchId,
    };

    const { status } = await service.call('createAuthIntegration', { body: request, key: body.key });

    expect(status).toBe(404);
  });

  test('cannot perform actions of the organization', async () => {
    const service = await withMember();
    const { body } = await scoped(service);

    expect((await create(service, ORGANIZATION_KEYS, { key_name: 'all' }, body.key)).status).toBe(404);
    expect((await create(service, '/api_keys', { key_name: 'mine' }, body.key)).status).toBe(404);
  });

  test('stops working when its project leaves the organization', async () => {
    const service = await withMember();
    const { body } = await scoped(service);
    await service.control('POST', `/projects/${service.projectId}/leave-organization`);

    expect(await statusOf(service, body.key, `/projects/${service.projectId}/operations`)).toBe(401);
  });
});

describe('limits', () => {
  test('allow forty requests of one route in a second, and then answer 429 until the second is over', async () => {
    const service = await startService();
    const statuses = await Promise.all(
      Array.from({ length: 41 }, () => statusOf(service, 'conformance-key')),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(40);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    // Another route has a limit of its own.
    expect((await service.call('listOperations')).status).toBe(200);

    await service.pass(1_100);
    expect(await statusOf(service, 'conformance-key')).toBe(200);
  });

  test('allow seven hundred requests a minute, including those of the Console', async () => {
    const service = await startService();
    expect((await service.control('POST', '/console', { requests: 700 })).body.admitted).toBe(700);
    expect(await statusOf(service, 'conformance-key')).toBe(429);

    await service.pass(61_000);
    expect(await statusOf(service, 'conformance-key')).toBe(200);
  });
});

describe('the control routes', () => {
  test('change dials while the service runs', async () => {
    const service = await startService();
    expect((await service.control('PATCH', '/dials', { unavailable: 1 })).body.unavailable).toBe(1);
    expect(await statusOf(service, 'conformance-key')).toBe(503);
    await service.control('PATCH', '/dials', { unavailable: 0 });
    expect(await statusOf(service, 'conformance-key')).toBe(200);
  });

  test('refuse an unknown dial and name it', async () => {
    const { status, body } = await (await startService()).control('PATCH', '/dials', { unavailble: 1 });

    expect(status).toBe(400);
    expect(body.message).toContain('unavailble');
  });

  test('revoke a key at once', async () => {
    const service = await startService();
    await service.control('POST', '/keys/revoke', { key: 'conformance-key' });

    expect(await statusOf(service, 'conformance-key')).toBe(401);
  });

  test.each(['rateLimited', 'unavailable'])(
    'make a refused command do no work with the dial %s',
    async (dial) => {
      const service = await startService();
      await service.control('PATCH', '/dials', { [dial]: 1 });
      await service.call('deleteEndpoint');
      await service.control('PATCH', '/dials', { [dial]: 0 });

      expect(await service.endpoint()).toBeDefined();
    },
  );

  test.each(['internalError', 'halfBody', 'htmlError'])(
    'make a command do its work and lose its answer with the dial %s',
    async (dial) => {
      const service = await startService();
      await service.control('PATCH', '/dials', { [dial]: 1 });
      await service.call('deleteEndpoint');
      await service.control('PATCH', '/dials', { [dial]: 0 });

      expect(await service.endpoint()).toBeUndefined();
    },
  );
});
