/** Drives the vendor's SDK unmodified from a new project to its end: only the base URL and the key are given. */

import { createNeonClient } from '@neon/sdk';
import { expect, test, vi } from 'vitest';
import { scaledClock } from '../../infra/process/surroundings.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { startService } from '../conformance/service-under-test.ts';

/** The SDK itself waits five minutes at most for operations to end. */
vi.setConfig({ testTimeout: 600_000 });

/** The SDK polls once a second, so at this speed a project of ten simulated seconds is ready by the first poll. */
const SPEED = 20;

async function withSdk() {
  const service = await startService({ clock: scaledClock(SPEED, systemClock.now()) });
  const neon = createNeonClient({
    apiKey: service.key,
    baseUrl: service.baseUrl,
    throwOnError: true,
    // Deleting waits for its operations, too. A compute may still be suspended in between, which locks the project.
    waitForReadiness: true,
    retries: 10,
  });
  return { service, neon };
}

test('the SDK creates a project, waits until it is ready, branches it, connects to it and deletes it', async () => {
  const { neon } = await withSdk();
  const { project, connectionString } = await neon.projects.createAndConnect({ name: 'shop' });
  const projectId = project.id;
  const operations = await neon.operations.list({ projectId }).all();
  expect(operations.map(({ status }) => status)).not.toContain('running');
  expect(new URL(connectionString).host).toContain('-pooler');

  const made = await neon.branches.createAndConnect({ projectId, name: 'dev' });
  const branchId = made.branch.id;
  expect((await neon.branches.get({ projectId, branchId })).current_state).toBe('ready');
  expect((await neon.branches.list({ projectId }).all()).map(({ name }) => name)).toContain('dev');
  expect(await neon.postgres.connectionString({ projectId, branchId })).toBe(made.connectionString);

  await neon.branches.delete({ projectId, branchId });
  expect((await neon.branches.list({ projectId }).all()).map(({ name }) => name)).not.toContain('dev');
  await neon.projects.delete({ projectId });
  await expect(neon.projects.get({ projectId })).rejects.toMatchObject({ status: 404 });
});

test('the SDK creates, restarts and deletes a compute, and recognizes errors', async () => {
  const { service, neon } = await withSdk();
  const { projectId, branchId } = service;
  const reader = { branch_id: branchId, type: 'read_only' } as const;
  const { id: endpointId } = await neon.postgres.endpoints.create({ projectId, ...reader });
  await neon.postgres.endpoints.restart({ projectId, endpointId });
  await neon.postgres.endpoints.delete({ projectId, endpointId });

  expect((await neon.postgres.endpoints.list({ projectId })).map(({ id }) => id)).toEqual([
    service.endpointId,
  ]);
  await expect(neon.projects.get({ projectId: 'no-such-project-00000001' })).rejects.toMatchObject({
    status: 404,
  });
});
