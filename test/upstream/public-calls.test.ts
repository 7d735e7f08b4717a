/**
 * Tests the table of public calls: it has the calls that the pinned client declares, and no field that it declares
 * leads around the fence.
 */

import { describe, expect, test } from 'vitest';
import { clientCalls, compareCalls, ownCalls } from '../../infra/cli/client-calls.ts';
import { undeclaredFields } from '../../shared/upstream/calls/call.ts';
import { calls } from '../../shared/upstream/calls/calls.ts';
import type { PublicCall } from '../../shared/upstream/public-calls/public-call.ts';
import { callOf, declaredFieldsOf } from '../../shared/upstream/public-calls/public-call.ts';
import { publicCalls } from '../../shared/upstream/public-calls/public-calls.ts';

const table = Object.entries<PublicCall>(publicCalls).map(([id, call]) => ({ id, call }));

describe('the table', () => {
  test('has the calls of the pinned client, no more and no fewer', () => {
    expect(clientCalls()).toHaveLength(163);
    expect(compareCalls(clientCalls(), ownCalls())).toEqual({ lacking: [], gone: [] });
  });

  test('shows which calls it lacks, and which the client no longer has, whatever their ids are called', () => {
    const ofClient = ['GET /projects', 'PUT /projects/{project_id}/colour'];

    expect(compareCalls(ofClient, ['GET /projects', 'GET /moons/{moon_id}'])).toEqual({
      lacking: ['PUT /projects/{project_id}/colour'],
      gone: ['GET /moons/{moon_id}'],
    });
    expect(compareCalls(['GET /a/{x}'], ['GET /a/{y}'])).toEqual({ lacking: [], gone: [] });
  });

  test('has each call once, under an id that no call of the specification has', () => {
    expect(new Set(ownCalls()).size).toBe(ownCalls().length);
    expect(table.filter(({ id }) => id in calls)).toEqual([]);
  });

  test('declares no field that names a project where a limited caller could send it', () => {
    const open = table.filter(({ call }) => callOf(call).reach === 'path_project');
    const named = open.filter(({ call }) =>
      /project_id|org_id/.test(`${call.fields ?? ''} ${call.query ?? ''}`),
    );

    expect(open.length).toBeGreaterThan(90);
    expect(named).toEqual([]);
  });

  test('closes to limited callers every call whose path has no project, but for lists that the bridge filters', () => {
    const reaches = table
      .filter(({ call }) => !call.request.includes('{project_id}'))
      .map(({ id, call }) => [id, callOf(call).reach]);

    expect(reaches.filter(([, reach]) => reach !== 'account')).toEqual([
      ['listSharedProjects', 'own_projects'],
      ['getProjectConsumption', 'listed_projects'],
      ['getProjectConsumptionV2', 'listed_projects'],
      ['getBranchConsumption', 'listed_projects'],
    ]);
  });

  test('closes every call that creates or revokes a key of the account or of an organization', () => {
    const ofKeys = table.filter(
      ({ call }) => /api_keys/.test(call.request) && !call.request.startsWith('GET'),
    );

    expect(ofKeys.map(({ id }) => id)).toHaveLength(4);
    expect(ofKeys.filter(({ call }) => !call.isClosed)).toEqual([]);
  });
});

describe('the declared fields of a body', () => {
  const undeclared = (id: keyof typeof publicCalls, body: object) =>
    undeclaredFields(declaredFieldsOf(publicCalls[id]).body(), body);

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
