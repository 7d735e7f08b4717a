import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

let bridge: BridgeOnThisMachine;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '3', '--seed', '2', '--speed', '5']);
}, 180_000);

afterAll(() => bridge[Symbol.asyncDispose]());

async function aProject(): Promise<string> {
  const { json } = await bridge.run(['run', 'GET', '/projects']);
  const { projects } = json() as { readonly projects: readonly { readonly id: string }[] };
  return projects[0]?.id ?? '';
}

test('freeze holds commands until it is lifted, and a wait for one of them ends with 124', {
  timeout: 180_000,
}, async () => {
  const project = await aProject();
  const held = await bridge.run(['freeze', 'on', 'a migration']);
  const branch = ['run', 'POST', `/projects/${project}/branches`, '--data', '{"branch":{}}'];
  const refused = await bridge.run(branch);
  const queued = await bridge.run([...branch, '--queue', '--json']);
  const id = (queued.json() as { answer: { command: { command_id: string } } }).answer.command.command_id;
  const tooLong = await bridge.run(['wait', 'command', id, '--timeout', '1s', '--json']);
  const lifted = await bridge.run(['freeze', 'off', '--json']);
  const ended = await bridge.run(['wait', 'command', id]);

  expect(held.output).toMatch(/^The commands are held since .* by development: a migration$/);
  expect(refused).toMatchObject({ code: 2, notes: 'The bridge answered 503.' });
  expect(refused.output).toContain('a migration');
  expect(tooLong.code).toBe(124);
  expect(tooLong.json()).toMatchObject({ outcome: 'pending', state: 'queued' });
  expect(lifted.json()).toEqual({ frozen: false });
  expect(ended).toMatchObject({ code: 0, output: expect.stringMatching(/has succeeded\.$/) });
  expect((await bridge.run(['freeze', 'status'])).output).toBe('The commands are not held.');
});

test('mutes are added, shown and removed, and what cannot be muted is refused with a reason', {
  timeout: 180_000,
}, async () => {
  const project = await aProject();
  const before = await bridge.run(['mutes', 'list']);
  const scope = ['--project', project, '--action', 'start_compute'];
  const added = await bridge.run([
    'mutes',
    'add',
    ...scope,
    '--for',
    '2h',
    '--reason',
    'a migration',
    '--json',
  ]);
  const { mute_id } = added.json() as { mute_id: string };
  const listed = await bridge.run(['mutes', 'list']);
  const removed = await bridge.run(['mutes', 'remove', mute_id]);

  expect(before.output).toBe('Nothing is muted.');
  expect(added.json()).toMatchObject({ project_id: project, action: 'start_compute', reason: 'a migration' });
  expect(listed.output).toMatch(/Z {2}start_compute in .* {2}development {2}a migration$/);
  expect(removed.output).toBe(`The mute ${mute_id} has ended.`);
  expect((await bridge.run(['mutes', 'list'])).output).toBe('Nothing is muted.');
  for (const duration of ['721h', '30s'])
    await expect(bridge.run(['mutes', 'add', '--for', duration, '--reason', 'x'])).rejects.toThrow(
      `--for is "${duration}"; a mute lasts from 1m to 720h.`,
    );
  await expect(bridge.run(['mutes', 'remove', mute_id])).rejects.toThrow(/404/);
});

test('audit finds who asked for what, with filters and page by page', { timeout: 180_000 }, async () => {
  const project = await aProject();
  for (let count = 0; count < 3; count++)
    await bridge.run([
      'run',
      'POST',
      `/projects/${project}/branches/br-none-00000000/restore`,
      '--data',
      '{}',
    ]);
  await bridge.run(['freeze', 'status']);

  const refused = await bridge.run(['audit', '--outcome', 'refused', '--json', '--since', '1h']);
  const records = refused.output.split('\n').map((line) => JSON.parse(line) as object);
  const limited = await bridge.run(['audit', '--project', project, '--limit', '2']);
  const before = await bridge.run(['audit', '--until', '1h']);

  expect(records.length).toBeGreaterThanOrEqual(3);
  for (const record of records)
    expect(record).toMatchObject({ client_id: 'development', outcome: 'refused' });
  expect(limited.output.split('\n')).toHaveLength(2);
  expect(limited.output).toContain(project);
  expect(limited.notes).toMatch(/There are more records/);
  expect(before.output).toBe('');
  await expect(bridge.run(['audit', '--since', 'yesterday'])).rejects.toThrow(/--since is "yesterday"/);
});

test('tokens finds the bridge on this machine with --local', { timeout: 60_000 }, async () => {
  const created = await bridge.run([
    'tokens',
    'create',
    '--local',
    '--client',
    'ci',
    '--scopes',
    'viewer',
    '--json',
  ]);
  const { token } = created.json() as { readonly token: string };
  const asCi = { environment: { OPERATIONS_BRIDGE_TOKEN: token } };

  expect((await bridge.run(['run', 'GET', '/bridge/v1/me'], asCi)).json()).toMatchObject({ client_id: 'ci' });
  expect((await bridge.run(['tokens', 'list', '--local', '--json'])).output).not.toContain('hash');
  await expect(bridge.run(['freeze', 'on', 'x'], asCi)).rejects.toThrow(/403.*commands:freeze/);
});

test('trigger publishes a test event that the rule for it gets', { timeout: 60_000 }, async () => {
  const { code, notes } = await bridge.run([
    'trigger',
    'operation-stalled',
    '--set',
    'project_id=p-of-a-test',
  ]);

  expect(code).toBe(0);
  expect(notes).toMatch(/on the bus, with the source operations-bridge\.test$/);
  await expect.poll(bridge.output, { timeout: 30_000 }).toMatch(/p-of-a-test.*Operation Stalled.*test event/);
});
