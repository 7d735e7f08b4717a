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
  expect(ended).toMatchObject({ code: 0, output: 'succeeded: succeeded' });
  expect((await bridge.run(['freeze', 'status'])).output).toBe('The commands are not held.');
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

  const refused = await bridge.run(['audit', '--outcome', 'refused', '--json', '--from', '1h']);
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
  await expect(bridge.run(['audit', '--from', 'yesterday'])).rejects.toThrow(/--from is "yesterday"/);
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
