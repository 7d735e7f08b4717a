/**
 * Tests the table of public calls: it has the calls that the pinned client declares, and no field that it declares
 * leads around the fence.
 */

import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { clientCalls, compareCalls, ownCalls } from '../../infra/cli/client-calls.ts';
import { undeclaredFields } from '../../shared/upstream/calls/call.ts';
import { calls, type PublicCallId, publicCalls } from '../../shared/upstream/calls/calls.ts';

const table = Object.entries(publicCalls).map(([id, call]) => ({ id, call }));

describe('the table', () => {
  test('has the calls and parameters of the two pinned clients, no more and no fewer', () => {
    const requests = clientCalls().map(({ request }) => request.replace(/\{\w+\}/g, '{}'));
    expect(requests).toHaveLength(163 + 179);
    expect(new Set(requests).size).toBe(180);
    expect(compareCalls(clientCalls(), ownCalls())).toEqual({ lacking: [], gone: [] });
  });

  test('shows what it lacks, and which calls no client has, whatever their ids are called', () => {
    const asked = (request: string, query: readonly string[] = []) => ({ request, query });
    const ofClient = [asked('GET /projects', ['limit', 'moon']), asked('PUT /projects/{project_id}/colour')];

    expect(
      compareCalls(ofClient, [asked('GET /projects', ['limit']), asked('GET /moons/{moon_id}')]),
    ).toEqual({
      lacking: ['GET /projects?moon', 'PUT /projects/{project_id}/colour'],
      gone: ['GET /moons/{moon_id}'],
    });
    expect(compareCalls([asked('GET /a/{x}')], [asked('GET /a/{y}')])).toEqual({ lacking: [], gone: [] });
  });

  test('has each call once, under an id that no call of the specification has', () => {
    expect(new Set(ownCalls().map(({ request }) => request)).size).toBe(ownCalls().length);
    expect(table.filter(({ id }) => id in calls)).toEqual([]);
  });

  test('declares no field that names a project where a limited caller could send it', () => {
    const open = table.filter(({ call }) => call.reach === 'path_project');
    const named = open.filter(({ call: { declared } }) =>
      /project_id|org_id/.test(
        JSON.stringify([declared?.query, z.toJSONSchema(declared?.body() ?? z.never())]),
      ),
    );

    expect(open.length).toBeGreaterThan(90);
    expect(named).toEqual([]);
  });

  test('closes to limited callers every call whose path has no project, but for lists that the bridge filters', () => {
    const reaches = table
      .filter(({ call }) => !call.path.includes('{project_id}'))
      .map(({ id, call }) => [id, call.reach]);

    expect(reaches.filter(([, reach]) => reach !== 'account')).toEqual([
      ['listSharedProjects', 'own_projects'],
      ['getProjectConsumption', 'listed_projects'],
      ['getProjectConsumptionV2', 'listed_projects'],
      ['getBranchConsumption', 'listed_projects'],
    ]);
  });

  test('closes every call that creates or revokes a key of the account or of an organization', () => {
    const ofKeys = table.filter(({ call: { path, method } }) => /api_keys/.test(path) && method !== 'GET');

    expect(ofKeys.map(({ id }) => id)).toHaveLength(4);
    expect(ofKeys.filter(({ call }) => !call.isClosed)).toEqual([]);
  });
});

describe('the declared fields of a body', () => {
  const undeclared = (id: PublicCallId, body: object) =>
    undeclaredFields(publicCalls[id].declared?.body(), body);

  test('go through lists and maps', () => {
    const endpoints = [{ type: 'read_write', settings: { pg_settings: { work_mem: '64MB' } } }];

    expect(undeclared('createBranch', { branch: { name: 'a' }, endpoints })).toEqual([]);
  });

  test.each([
    [{ project_id: 'another' }, ['project_id']],
    [{ branch: { project_id: 'another' } }, ['branch.project_id']],
    [{ endpoints: [{ source: { project: 'x' } }] }, ['endpoints.0.source']],
    [
      { endpoints: [{ settings: { pg_settings: { a: { project: 'x' } } } }] },
      ['endpoints.0.settings.pg_settings.a.project'],
    ],
    [{ endpoints: { type: 'read_write' } }, ['endpoints.type']],
  ])('are all that is declared: %j', (body, fields) => {
    expect(undeclared('createBranch', body)).toEqual(fields);
  });
});
