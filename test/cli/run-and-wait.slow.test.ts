import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

let bridge: BridgeOnThisMachine;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '4', '--seed', '1', '--speed', '5']);
}, 180_000);

afterAll(() => bridge[Symbol.asyncDispose]());

interface Answer {
  readonly answer: {
    readonly branch: { readonly id: string };
    readonly operations: readonly { readonly id: string }[];
  };
}

async function aProject(): Promise<string> {
  const { json } = await bridge.run(['run', 'GET', '/projects']);
  const { projects } = json() as { readonly projects: readonly { readonly id: string }[] };
  return projects[0]?.id ?? '';
}

/** A held project refuses, so the command waits in line. */
const createBranch = (project: string, ...args: readonly string[]) =>
  bridge.run(['run', 'POST', `/projects/${project}/branches`, '--data', '{"branch":{}}', ...args]);

describe('operations-bridge run', { timeout: 240_000 }, () => {
  test('finds the bridge on this machine and prints the answer as it is', async () => {
    const { code, output } = await bridge.run(['run', 'GET', '/projects?limit=2']);

    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      projects: [{ id: expect.any(String) }, { id: expect.any(String) }],
    });
  });

  test('waits for the end of every operation that a command has started', async () => {
    const project = await aProject();
    const { code, json, notes } = await createBranch(project, '--queue', '--wait', '--json');

    expect(code).toBe(0);
    expect(json()).toMatchObject({ status: 201, outcome: 'succeeded', end: { state: 'succeeded' } });
    expect(notes).toMatch(/The command has succeeded\.$/);
  });

  test('sends at once without --queue, and waits for Command Settled', async () => {
    const project = await aProject();
    const send = () => createBranch(project, '--wait', '--json');
    let ran = await send();
    // While a session of a simulated user holds the project, the call is refused and nothing is done.
    for (let held = 0; held < 20 && ran.code === 2; held++) ran = await send();

    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({
      status: 201,
      outcome: 'succeeded',
      end: { outcome: 'succeeded' },
    });
  });

  test('ends with 2 when the call is refused, and prints the refusal', async () => {
    const { code, output, notes } = await bridge.run(['run', 'GET', '/projects/no-such-project-1']);

    expect(code).toBe(2);
    expect(JSON.parse(output)).toMatchObject({ message: expect.any(String) });
    expect(notes).toBe('The bridge answered 404.');
  });
});

describe('operations-bridge wait', { timeout: 240_000 }, () => {
  test('waits for an operation, a command and a branch that others started', async () => {
    const project = await aProject();
    const sent = await createBranch(project, '--queue', '--json');
    const id = (sent.json() as { answer: { command: { command_id: string } } }).answer.command.command_id;

    const command = await bridge.run(['wait', 'command', id, '--json']);
    expect(command.code).toBe(0);
    const { seen } = command.json() as {
      seen: { operation_ids: readonly string[]; answer: { body: string } };
    };
    const branchId = (JSON.parse(seen.answer.body) as Answer['answer']).branch.id;
    const operation = await bridge.run([
      'wait',
      'operation',
      seen.operation_ids[0] ?? '',
      '--project',
      project,
    ]);
    const branch = await bridge.run(['wait', 'branch', branchId, '--project', project]);

    expect(operation).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Operation \S+ has succeeded \(finished\)\.$/),
    });
    const { json } = await bridge.run(['run', 'GET', `/projects/${project}/branches`]);
    const { branches } = json() as { readonly branches: readonly { readonly id: string }[] };
    const older = branches.find((one) => one.id !== branchId)?.id ?? '';

    expect(branch).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Branch \S+ has succeeded \(ready\)\.$/),
    });
    expect(await bridge.run(['wait', 'branch', older, '--project', project])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Branch \S+ has succeeded \(ready\)\.$/),
    });
  });
});
