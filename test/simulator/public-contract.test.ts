/**
 * Sends every simulated call of the public contract once, and checks that its answer has the status and the fields that
 * the contract requires. The specification's calls of the auth integration have their own suite in
 * test/conformance.
 */

import { describe, expect, test } from 'vitest';
import { simulatedCalls } from '../../infra/simulator/start-upstream.ts';
import { ORGANIZATION_ID } from '../../infra/simulator/world/project-state.ts';
import { type AnyCallId, allCalls } from '../../shared/upstream/calls/calls.ts';
import { openProject } from './answers-under-test.ts';
import { contract, missingFields } from './required-fields.ts';
import { type Answer, START_MS } from './upstream-under-test.ts';

const SECOND_ID = 'org-young-meadow-20000002';

interface SentCall {
  readonly call: string;
  readonly answer: Answer;
}

/** Replaces the ids of a template one after another, and remembers the answer under the template. */
async function openRecorder() {
  const opened = await openProject();
  const sent: SentCall[] = [];
  const send = async (call: string, ids: readonly string[] = [], body?: object): Promise<Answer['body']> => {
    const [method = '', template = ''] = call.split(' ');
    const [path = '', query = ''] = template.split('?');
    let place = 0;
    const filled = path.replace(/\{\w+\}/g, () => ids[place++] ?? '');
    const answer = await opened.send(method, query === '' ? filled : `${filled}?${query}`, body);
    sent.push({ call: `${method} ${path}`, answer });
    opened.settle();
    return answer.body;
  };
  return { ...opened, send, sent };
}

type Recorder = Awaited<ReturnType<typeof openRecorder>>;

const P = '/projects/{project_id}';
const B = `${P}/branches/{branch_id}`;
const E = `${P}/endpoints/{endpoint_id}`;
const O = '/organizations/{org_id}';

async function useProjects({ send, projectId }: Recorder): Promise<void> {
  const made = (await send('POST /projects', [], { project: { name: 'made' } })).project.id;
  await send('GET /projects?limit=400');
  await send('GET /projects/shared');
  await send(`GET ${P}`, [projectId]);
  await send(`PATCH ${P}`, [projectId], { project: { history_retention_seconds: 7_200 } });
  const { operations } = await send(`GET ${P}/operations`, [made]);
  await send(`GET ${P}/operations/{operation_id}`, [made, operations[0].id]);
  await send(`GET ${P}/connection_uri?database_name=neondb&role_name=neondb_owner`, [made]);
  const { id } = await send(`POST ${P}/transfer_requests`, [made]);
  await send(`PUT ${P}/transfer_requests/{request_id}`, [made, id], { org_id: SECOND_ID });
  const permission = await send(`POST ${P}/permissions`, [projectId], { email: 'guest@example.com' });
  await send(`GET ${P}/permissions`, [projectId]);
  await send(`DELETE ${P}/permissions/{permission_id}`, [projectId, permission.id]);
  const transfer = { destination_org_id: ORGANIZATION_ID, project_ids: [made] };
  await send('POST /organizations/{source_org_id}/projects/transfer', [SECOND_ID], transfer);
  await send(`DELETE ${P}`, [made]);
  const { branches } = await send(`POST ${P}/recover`, [made]);
  expect((await send(`GET ${P}/branches`, [made])).branches).toEqual(branches);
  await send(`DELETE ${P}`, [made]);
}

async function useBranches({ send, projectId, branchId }: Recorder): Promise<void> {
  const request = { branch: { name: 'a-branch' }, endpoints: [{ type: 'read_write' }] };
  const { branch } = await send(`POST ${P}/branches`, [projectId], request);
  const ids = [projectId, branch.id];
  await send(`GET ${P}/branches`, [projectId]);
  await send(`GET ${P}/branches/count`, [projectId]);
  await send(`GET ${B}`, ids);
  await send(`GET ${B}/endpoints`, ids);
  await send(`PATCH ${B}`, ids, { branch: { name: 'renamed' } });
  await send(`POST ${B}/restore`, ids, { source_branch_id: branchId });
  await send(`POST ${B}/set_as_default`, ids);
  await send(`POST ${B}/set_as_default`, [projectId, branchId]);
  await send(`DELETE ${B}`, ids);
}

async function useContent({ send, projectId, branchId }: Recorder): Promise<void> {
  const ids = [projectId, branchId];
  await send(`POST ${B}/roles`, ids, { role: { name: 'ada' } });
  await send(`GET ${B}/roles`, ids);
  await send(`GET ${B}/roles/{role_name}`, [...ids, 'ada']);
  await send(`GET ${B}/roles/{role_name}/reveal_password`, [...ids, 'ada']);
  await send(`POST ${B}/roles/{role_name}/reset_password`, [...ids, 'ada']);
  await send(`DELETE ${B}/roles/{role_name}`, [...ids, 'ada']);
  await send(`POST ${B}/databases`, ids, { database: { name: 'orders', owner_name: 'neondb_owner' } });
  await send(`GET ${B}/databases`, ids);
  await send(`GET ${B}/databases/{database_name}`, [...ids, 'orders']);
  await send(`PATCH ${B}/databases/{database_name}`, [...ids, 'orders'], { database: { name: 'sales' } });
  await send(`DELETE ${B}/databases/{database_name}`, [...ids, 'sales']);
}

async function useComputes({ send, projectId, branchId }: Recorder): Promise<void> {
  const request = { endpoint: { branch_id: branchId, type: 'read_only' } };
  const { endpoint } = await send(`POST ${P}/endpoints`, [projectId], request);
  const ids = [projectId, endpoint.id];
  await send(`GET ${P}/endpoints`, [projectId]);
  await send(`GET ${E}`, ids);
  await send(`PATCH ${E}`, ids, { endpoint: { suspend_timeout_seconds: 600 } });
  await send(`POST ${E}/restart`, ids);
  await send(`POST ${E}/suspend`, ids);
  await send(`POST ${E}/start`, ids);
  await send(`DELETE ${E}`, ids);
}

/** A branch that is made of a snapshot shows what its source had then, and takes its name, its computes and its place. */
async function restoreFrom({ send, projectId, branchId, endpointId }: Recorder, ofSnapshot: string[]) {
  const before = (await send(`GET ${B}`, [projectId, branchId])).branch;
  await send(`POST ${B}/roles`, [projectId, branchId], { role: { name: 'later' } });
  const { branch } = await send(`POST ${P}/snapshots/{snapshot_id}/restore`, ofSnapshot, { name: 'look' });
  const ids = [projectId, branch.id];
  const { roles } = await send(`GET ${B}/roles`, ids);
  expect(roles.map(({ name }: { name: string }) => name)).toEqual(['neondb_owner']);
  expect(branch).toMatchObject({
    restored_from: ofSnapshot[1],
    restored_as: branchId,
    restore_status: 'restored',
  });

  const { operations } = await send(`POST ${B}/finalize_restore`, ids, { name: 'replaced' });
  const restored = (await send(`GET ${B}`, ids)).branch;
  expect(restored).toMatchObject({ name: before.name, default: true, restore_status: 'finalized' });
  expect((await send(`GET ${B}`, [projectId, branchId])).branch).toMatchObject({
    name: 'replaced',
    default: false,
  });
  expect((await send(`GET ${E}`, [projectId, endpointId])).endpoint.branch_id).toBe(branch.id);
  const actions = operations.map(({ action }: { action: string }) => action);
  expect(['', 'suspend_compute,start_compute']).toContain(String(actions));
}

/** These are kept and shown, and nothing else happens with them. */
async function useResources(recorder: Recorder): Promise<void> {
  const { send, projectId, branchId } = recorder;
  const ids = [projectId, branchId];
  const ofBranch = ['functions', 'logs/fields', 'schema', 'compare_schema', 'storage', 'ai_gateway'];
  for (const name of ofBranch) await send(`GET ${B}/${name}`, ids);
  for (const name of ['advisors', 'available_preload_libraries']) await send(`GET ${P}/${name}`, [projectId]);
  await send(`GET ${B}/logs/fields/{field_name}/values`, [...ids, 'service_name']);
  await send(`POST ${B}/logs/query`, ids, { since: '1h' });
  await send(`GET ${O}/vpc/vpc_endpoints`, [ORGANIZATION_ID]);
  await send(`GET ${O}/vpc/region/{region_id}/vpc_endpoints`, [ORGANIZATION_ID, 'aws-us-east-2']);

  const { snapshot } = await send(`POST ${B}/snapshot?name=before`, ids);
  const ofSnapshot = [projectId, snapshot.id];
  await send(`PATCH ${P}/snapshots/{snapshot_id}`, ofSnapshot, { snapshot: { name: 'after' } });
  expect((await send(`GET ${P}/snapshots`, [projectId])).snapshots).toEqual([{ ...snapshot, name: 'after' }]);
  await restoreFrom(recorder, ofSnapshot);
  await send(`DELETE ${P}/snapshots/{snapshot_id}`, ofSnapshot);

  await send(`POST ${B}/buckets`, ids, { name: 'files' });
  await send(`GET ${B}/buckets`, ids);
  await send(`GET ${B}/buckets/{bucket_name}/objects`, [...ids, 'files']);
  await send(`DELETE ${B}/buckets/{bucket_name}`, [...ids, 'files']);

  const issued = await send(`POST ${B}/credentials`, ids, { name: 'ci', scopes: ['storage:read'] });
  const ofCredential = [...ids, issued.token_id];
  const listed = (await send(`GET ${B}/credentials`, ids)).credentials;
  expect(JSON.stringify(listed)).not.toContain(issued.api_token);
  const revealed = await send(`POST ${B}/credentials/{token_id}/reveal`, ofCredential);
  expect(revealed.api_token).toBe(issued.api_token);
  const rotated = await send(`POST ${B}/credentials/{token_id}/rotate`, ofCredential);
  expect(rotated.api_token).not.toBe(issued.api_token);
  await send(`DELETE ${B}/credentials/{token_id}`, ofCredential);

  const domain = { domain: 'api.example.com', entity_type: 'function', entity_id: 'hello' };
  await send(`POST ${B}/custom-domains`, ids, domain);
  await send(`GET ${B}/custom-domains`, ids);
  await send(`DELETE ${B}/custom-domains/{domain}`, [...ids, domain.domain]);
  const keySet = { jwks_url: 'https://keys.example.com/jwks.json', provider_name: 'example' };
  const { jwks } = await send(`POST ${P}/jwks`, [projectId], keySet);
  await send(`GET ${P}/jwks`, [projectId]);
  await send(`DELETE ${P}/jwks/{jwks_id}`, [projectId, jwks.id]);
  const timer = { type: 'schedule', name: 'hourly', function_slug: 'hello', schedule: { cron: '0 * * * *' } };
  const { trigger } = await send(`POST ${B}/triggers`, ids, timer);
  const ofTrigger = [...ids, trigger.trigger_id];
  const off = { type: 'schedule', enabled: false };
  expect((await send(`PATCH ${B}/triggers/{trigger_id}`, ofTrigger, off)).trigger.enabled).toBe(false);
  const shown = (await send(`GET ${B}/triggers/{trigger_id}`, ofTrigger)).trigger;
  expect((await send(`GET ${B}/triggers`, ids)).triggers).toEqual([shown]);
  await send(`DELETE ${B}/triggers/{trigger_id}`, ofTrigger);
  const network = `${O}/vpc/region/{region_id}/vpc_endpoints/{vpc_endpoint_id}`;
  const ofNetwork = [ORGANIZATION_ID, 'aws-us-east-2', 'vpce-1'];
  await send(`POST ${network}`, ofNetwork, { label: 'office' });
  expect((await send(`GET ${network}`, ofNetwork)).label).toBe('office');
  await send(`DELETE ${network}`, ofNetwork);
  const ofEndpoint = [projectId, 'vpce-1'];
  await send(`POST ${P}/vpc_endpoints/{vpc_endpoint_id}`, ofEndpoint, { label: 'office' });
  await send(`GET ${P}/vpc_endpoints`, [projectId]);
  await send(`DELETE ${P}/vpc_endpoints/{vpc_endpoint_id}`, ofEndpoint);

  await send(`PUT ${B}/backup_schedule`, ids, { schedule: [{ frequency: 'daily' }] });
  expect((await send(`GET ${B}/backup_schedule`, ids)).schedule).toHaveLength(1);
  await send(`PATCH ${B}/masking_rules`, ids, { masking_rules: [] });
  await send(`GET ${B}/masking_rules`, ids);
  await send(`PUT ${O}/billing/spending_limit`, [ORGANIZATION_ID], { spending_limit_cents: 5_000 });
  await send(`GET ${O}/billing/spending_limit`, [ORGANIZATION_ID]);
  await send(`DELETE ${O}/billing/spending_limit`, [ORGANIZATION_ID]);
  const ofDatabase = [...ids, 'neondb'];
  const dataApi = `${B}/data-api/{database_name}`;
  await send(`POST ${dataApi}`, ofDatabase, {});
  await send(`PATCH ${dataApi}`, ofDatabase, { settings: { db_max_rows: 10 } });
  expect((await send(`GET ${dataApi}`, ofDatabase)).settings).toEqual({ db_max_rows: 10 });
  await send(`DELETE ${dataApi}`, ofDatabase);
}

async function useAuth({ send, projectId, branchId }: Recorder): Promise<void> {
  const A = `${B}/auth`;
  const ids = [projectId, branchId];
  const auth_provider = 'stack';
  const domain = 'https://app.example.com';
  await send(`POST ${A}`, ids, { auth_provider });
  await send(`GET ${A}`, ids);
  await send(`POST ${A}/domains`, ids, { auth_provider, domain });
  await send(`GET ${A}/domains`, ids);
  await send(`DELETE ${A}/domains`, ids, { auth_provider, domains: [{ domain }] });
  const user = await send(`POST ${A}/users`, ids, { email: 'ada@example.com' });
  await send(`DELETE ${A}/users/{auth_user_id}`, [...ids, user.id]);
  await send(`POST ${A}/oauth_providers`, ids, { id: 'microsoft' });
  await send(`GET ${A}/oauth_providers`, ids);
  const provider = `${A}/oauth_providers/{oauth_provider_id}`;
  await send(`PATCH ${provider}`, [...ids, 'microsoft'], { client_id: 'an-id', client_secret: 'a-secret' });
  await send(`DELETE ${provider}`, [...ids, 'microsoft']);
  await send(`GET ${A}/email_provider`, ids);
  await send(`PATCH ${A}/email_provider`, ids, { type: 'shared' });
  await send(`DELETE ${A}`, ids);
}

async function useAccount({ send }: Recorder): Promise<void> {
  for (const path of ['/users/me', '/users/me/organizations', '/auth', '/regions']) await send(`GET ${path}`);
  const span = `from=2026-01-15T00:00:00Z&to=${new Date(START_MS + 60_000).toISOString()}`;
  await send(`GET /consumption_history/projects?${span}&granularity=hourly`);
  const personal = await send('POST /api_keys', [], { key_name: 'a-key' });
  await send('GET /api_keys');
  await send('DELETE /api_keys/{key_id}', [String(personal.id)]);
  const organization = await send(`POST ${O}/api_keys`, [ORGANIZATION_ID], { key_name: 'a-key' });
  await send(`GET ${O}/api_keys`, [ORGANIZATION_ID]);
  await send(`DELETE ${O}/api_keys/{key_id}`, [ORGANIZATION_ID, String(organization.id)]);
  await send(`GET ${O}`, [ORGANIZATION_ID]);
  const { members } = await send(`GET ${O}/members`, [ORGANIZATION_ID]);
  const found = members.find(({ member }: { member: { role: string } }) => member.role === 'member');
  const ids = [ORGANIZATION_ID, found.member.id];
  await send(`GET ${O}/members/{member_id}`, ids);
  await send(`PATCH ${O}/members/{member_id}`, ids, { role: 'editor' });
  await send(`DELETE ${O}/members/{member_id}`, ids);
}

const recorder = await openRecorder();
await useProjects(recorder);
await useBranches(recorder);
await useContent(recorder);
await useComputes(recorder);
await useAuth(recorder);
await useResources(recorder);
await useAccount(recorder);

describe('the answer of', () => {
  test.each(recorder.sent)('$call has the status and every field of the contract', ({ call, answer }) => {
    expect([call, answer.status, answer.text]).toEqual([call, contract.answers[call]?.status, answer.text]);
    expect(missingFields(call, answer.body)).toEqual([]);
  });
});

test('a project comes back within a week of its deletion, and not while it is there', async () => {
  const { upstream, base, settle } = await openProject();
  const statusOf = async (method: string, path = base) => (await upstream.send(method, path)).status;

  expect(await statusOf('POST', `${base}/recover`)).toBe(422);
  expect(await statusOf('DELETE')).toBe(200);
  settle();
  expect(await statusOf('GET')).toBe(404);
  expect(await statusOf('POST', `${base}/recover`)).toBe(200);
  expect(await statusOf('GET')).toBe(200);
  expect(await statusOf('DELETE')).toBe(200);
  upstream.passMs(8 * 24 * 3_600_000);
  expect(await statusOf('POST', `${base}/recover`)).toBe(404);
});

describe('these tests', () => {
  test('send every call that is simulated, but for those of the auth integration of a project', () => {
    // The handlers are never asked, so nothing of what their answers need is used.
    const simulated = Object.keys(simulatedCalls({} as never))
      .map((id) => allCalls[id as AnyCallId])
      .map(({ method, path }) => `${method} ${path}`)
      .filter((call) => !/\/projects\/(.*\/)?auth(\/|$)/.test(call));
    const sent = new Set(recorder.sent.map(({ call }) => call));

    expect(simulated.length).toBeGreaterThan(50);
    expect(simulated.filter((call) => !sent.has(call))).toEqual([]);
  });

  test('find a field that is missing, in an object and in a list', () => {
    const { body } = recorder.sent.find(({ call }) => call === 'GET /projects')?.answer ?? {};
    const [{ owner_id: _ownerId, ...project }] = body.projects;
    const settings = { maintenance_window: { weekdays: [] } };

    expect(missingFields('GET /projects', { ...body, projects: [{ ...project, settings }] })).toEqual([
      '.projects[0].settings.maintenance_window.start_time',
      '.projects[0].settings.maintenance_window.end_time',
      '.projects[0].owner_id',
    ]);
  });
});
