/** Checks what the account shows: people, organizations and their members, regions, and consumption. */

import { describe, expect, test } from 'vitest';
import { MEMBER_ID } from '../../infra/simulator/world/account.ts';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { openProject } from './answers-under-test.ts';
import { HOUR_MS, START_MS } from './upstream-under-test.ts';

const KEYS_PATH = `/organizations/${ORGANIZATION_ID}/api_keys`;
const MEMBERS_PATH = `/organizations/${ORGANIZATION_ID}/members`;
const withKey = (key: string) => ({ authorization: `Bearer ${key}` });
const isoOf = (epochMs: number) => new Date(epochMs).toISOString();

describe('a person', () => {
  test('sees who they are and to which organizations they belong', async () => {
    const { get } = await openProject();
    const me = (await get('/users/me')).body;
    const { organizations } = (await get('/users/me/organizations')).body;

    expect(me).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/),
      email: 'owner@example.com',
    });
    expect(organizations.map(({ id }: { id: string }) => id)).toContain(ORGANIZATION_ID);
    expect((await get('/auth')).body).toEqual({ account_id: me.id, auth_method: 'api_key_user' });
    for (const { id, name } of organizations)
      expect((await get(`/organizations/${id}`)).body).toMatchObject({ id, name });
  });

  test('is unknown to a key of an organization, which belongs to no person', async () => {
    const { get, succeed } = await openProject();
    const { key } = await succeed('POST', KEYS_PATH, { key_name: 'organization' });

    const { status, body } = await get('/users/me', withKey(key));

    expect([status, body.message]).toEqual([404, 'not allowed for organization API keys']);
    expect((await get('/auth', withKey(key))).body).toEqual({
      account_id: ORGANIZATION_ID,
      auth_method: 'api_key_org',
    });
  });
});

describe('a member of an organization', () => {
  const memberOf = async ({ get }: Awaited<ReturnType<typeof openProject>>, role: string) => {
    const { members } = (await get(MEMBERS_PATH)).body;
    return members.find(({ member }: { member: { role: string } }) => member.role === role);
  };

  test('becomes an administrator, who makes keys of the organization', async () => {
    const opened = await openProject();
    opened.upstream.apiKeys.add('member-key', MEMBER_ID);
    const { member } = await memberOf(opened, 'member');
    expect((await opened.get(KEYS_PATH, withKey('member-key'))).status).toBe(403);

    await opened.succeed('PATCH', `${MEMBERS_PATH}/${member.id}`, { role: 'admin' });

    expect((await opened.get(`${MEMBERS_PATH}/${member.id}`)).body.role).toBe('admin');
    expect((await opened.get(KEYS_PATH, withKey('member-key'))).status).toBe(200);
  });

  test('reaches no project after leaving', async () => {
    const opened = await openProject();
    opened.upstream.apiKeys.add('member-key', MEMBER_ID);
    const { member } = await memberOf(opened, 'member');
    expect((await opened.get(opened.base, withKey('member-key'))).status).toBe(200);

    await opened.succeed('DELETE', `${MEMBERS_PATH}/${member.id}`);

    expect((await opened.get(opened.base, withKey('member-key'))).status).toBe(404);
    expect((await opened.get(MEMBERS_PATH)).body.members).toHaveLength(1);
  });

  test('is not changed by a member, and the last administrator stays', async () => {
    const opened = await openProject();
    const { member: admin } = await memberOf(opened, 'admin');

    expect((await opened.send('DELETE', `${MEMBERS_PATH}/${admin.id}`)).status).toBe(422);
    expect((await opened.send('PATCH', `${MEMBERS_PATH}/none`, { role: 'admin' })).status).toBe(404);
    expect((await opened.send('PATCH', `${MEMBERS_PATH}/${admin.id}`, { role: 'king' })).status).toBe(400);
  });
});

describe('regions', () => {
  test('are those in which a project can be created', async () => {
    const { get, succeed } = await openProject();
    const { regions } = (await get('/regions')).body;

    for (const { region_id } of regions) {
      const { project } = await succeed('POST', '/projects', { project: { region_id } });
      expect(project.region_id).toBe(region_id);
    }
    expect(regions.filter((region: { default: boolean }) => region.default)).toHaveLength(1);
  });
});

describe('consumption', () => {
  test('is shown by the hour, and its sum is what the project shows', async () => {
    const { base, endpointId, get, succeed, upstream } = await openProject();
    upstream.passMs(HOUR_MS / 2);
    await succeed('POST', `${base}/endpoints/${endpointId}/start`);
    upstream.passMs(HOUR_MS);
    const query = `from=${isoOf(START_MS)}&to=${isoOf(START_MS + 3 * HOUR_MS)}&granularity=hourly`;

    const [{ periods }] = (await get(`/consumption_history/projects?${query}`)).body.projects;

    const seconds = periods[0].consumption.map(
      ({ active_time_seconds }: { active_time_seconds: number }) => active_time_seconds,
    );
    const total = (await get(base)).body.project.active_time_seconds;
    expect(total).toBe(300);
    expect(seconds).toEqual([total, 0]);
  });

  test.each([
    ['no granularity', `from=${isoOf(START_MS)}&to=${isoOf(START_MS + HOUR_MS)}`],
    ['an end before the beginning', `from=${isoOf(START_MS)}&to=${isoOf(START_MS - 1)}&granularity=daily`],
    ['a span of a year by the hour', `from=2025-01-01T00:00:00Z&to=${isoOf(START_MS)}&granularity=hourly`],
  ])('is refused for %s', async (_what, query) => {
    const { get } = await openProject();

    expect((await get(`/consumption_history/projects?${query}`)).status).toBe(400);
  });
});
