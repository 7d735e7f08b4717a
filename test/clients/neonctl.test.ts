/** Drives the vendor's command line against the simulated service, and against the bridge in front of it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SETTLING_MS, startService } from '../conformance/service-under-test.ts';
import { openNeonctl } from './neonctl.ts';

async function withNeonctl() {
  const service = await startService();
  const neonctl = openNeonctl(service);
  const settle = () => service.pass(SETTLING_MS);
  return { service, neonctl, settle };
}

describe('neonctl', () => {
  test('connects to this machine only, because its analytics are off', async () => {
    const { neonctl } = await withNeonctl();

    const { stderr } = await neonctl.run('me', '--output', 'json');
    expect(stderr).toContain('loopback-only: refused a connection to track.neon.tech');

    const quiet = await neonctl.run('me', '--output', 'json', '--no-analytics');
    expect(quiet.stderr).not.toContain('loopback-only');
  });

  test('says what is wrong when the key is wrong', async () => {
    const { service } = await withNeonctl();
    const { exitCode, stderr } = await openNeonctl({ ...service, key: 'another-key' }).run(
      'me',
      '--no-analytics',
    );

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/the Neon API rejected the API key/);
  });

  test('lists operations', async () => {
    const { service, neonctl } = await withNeonctl();
    await service.wake();
    const [newest] = (await service.call('listOperations')).body.operations;

    const listed = await neonctl.json('operations', 'list', '--project-id', service.projectId);
    expect(listed[0]).toMatchObject({ id: newest.id, action: 'start_compute', status: 'finished' });
    expect(await neonctl.table('operations', 'list', '--project-id', service.projectId)).toMatch(
      new RegExp(`${newest.id} +start_compute +finished`),
    );
  });

  test('remembers a project in its context and uses it from then on', async () => {
    const { service, neonctl } = await withNeonctl();
    await neonctl.table('set-context', '--project-id', service.projectId);
    const context = JSON.parse(readFileSync(join(neonctl.folder, '.neon'), 'utf8'));
    expect(context).toMatchObject({ projectId: service.projectId });

    await service.wake();
    const listed = await neonctl.json('operations', 'list');
    expect(listed.map(({ project_id }: { project_id: string }) => project_id)).toEqual([service.projectId]);

    const other = [
      'set-context',
      '--project-id',
      service.otherProjectId,
      '--output',
      'json',
      '--no-analytics',
    ];
    expect(await neonctl.run(...other)).toMatchObject({ exitCode: 0, stdout: '' });
    expect(await neonctl.json('operations', 'list')).toEqual([]);
  });
});
