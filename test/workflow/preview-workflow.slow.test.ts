/**
 * The state machine of docs/examples, with its function, on a bridge of this machine (`npm start`): the bridge ends its tasks through the
 * SDK at the local AWS, which prints each end.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { TASK_TOKEN_PREFIX } from '../../infra/local/aws/step-functions.ts';
import { ROOT } from '../../infra/release/project.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from '../cli/bridge-on-this-machine.ts';
import { execute, type Surroundings, TaskFailed } from './state-machine.ts';

const EXAMPLES = join(ROOT, 'docs/examples');
const definition: unknown = JSON.parse(readFileSync(join(EXAMPLES, 'preview-workflow.asl.json'), 'utf8'));

type Handler = (payload: Record<string, unknown>) => Promise<unknown>;

let bridge: BridgeOnThisMachine;
let callTheBridge: Handler;

beforeAll(async () => {
  bridge = await startBridgeOnThisMachine(['--projects', '2', '--seed', '1', '--speed', '20']);
  vi.stubEnv('OPERATIONS_BRIDGE_URL', bridge.url);
  vi.stubEnv('OPERATIONS_BRIDGE_TOKEN', bridge.token);
  const loaded = (await import(join(EXAMPLES, 'call-the-bridge.mjs'))) as { readonly handler: Handler };
  callTheBridge = loaded.handler;
}, 180_000);

afterAll(async () => {
  vi.unstubAllEnvs();
  await bridge[Symbol.asyncDispose]();
});

const endsPrinted = () =>
  [...bridge.output().matchAll(/step functions: a waiting task ended with (\{.*\})/g)].map(
    ([, json = '']) => JSON.parse(json) as { output?: unknown; error?: string; cause?: string },
  );

/** The tasks of an execution wait one after the other, so the next end that is printed is that of the open task. */
function surroundingsOf(executionName: string, migrate: Handler): Surroundings {
  let taskCount = 0;
  return {
    executionName,
    functions: { 'call-the-bridge': callTheBridge, migrate },
    openTask() {
      const before = endsPrinted().length;
      const end = vi.waitUntil(() => endsPrinted()[before], { timeout: 120_000, interval: 100 });
      return {
        token: `${TASK_TOKEN_PREFIX}${executionName}-${++taskCount}`,
        end: end.then(({ output, error = '', cause = '' }) => {
          if (output === undefined) throw new TaskFailed(error, cause);
          return output;
        }),
      };
    },
  };
}

async function aProject(): Promise<string> {
  const { json } = await bridge.run(['run', 'GET', '/projects']);
  return (json() as { projects: readonly { id: string }[] }).projects[0]?.id ?? '';
}

async function branchIdsOf(project: string): Promise<readonly string[]> {
  const { json } = await bridge.run(['run', 'GET', `/projects/${project}/branches`]);
  return (json() as { branches: readonly { id: string }[] }).branches.map(({ id }) => id);
}

describe('the state machine of the documents', { timeout: 300_000 }, () => {
  test('creates a branch, migrates it when it can be used, and deletes it', async () => {
    const project_id = await aProject();
    const migrated: unknown[] = [];
    const ran = await execute(
      definition,
      { project_id },
      surroundingsOf('first', async (payload) => {
        migrated.push(payload);
        expect(await branchIdsOf(project_id)).toContain(payload['branch_id']);
        return 'migrated';
      }),
    );

    expect(ran).toMatchObject({
      status: 'SUCCEEDED',
      entered: [
        'Create the branch',
        'Run the migration',
        'Delete the branch',
        'Has the migration failed?',
        'Done',
      ],
      data: {
        created: { outcome: 'succeeded', call: 'createBranch', project_id },
        deleted: { outcome: 'succeeded', call: 'deleteBranch', project_id },
      },
    });
    const { branch_id } = ran.data['created'] as { readonly branch_id: string };
    expect(migrated).toEqual([{ project_id, branch_id }]);
    expect(await branchIdsOf(project_id)).not.toContain(branch_id);
  });

  test('deletes the branch after a migration that failed, too, and says so', async () => {
    const project_id = await aProject();
    const ran = await execute(
      definition,
      { project_id },
      surroundingsOf('second', () => Promise.reject(new Error('column "x" does not exist'))),
    );

    expect(ran).toMatchObject({ status: 'FAILED', error: 'MigrationFailed' });
    const { branch_id } = ran.data['created'] as { readonly branch_id: string };
    expect(await branchIdsOf(project_id)).not.toContain(branch_id);
  });

  test('fails at once when the bridge does not take the command', async () => {
    const ran = await execute(
      definition,
      { project_id: 'no-such-project-1' },
      surroundingsOf('third', async () => 'never'),
    );

    expect(ran).toMatchObject({ status: 'FAILED', entered: ['Create the branch'] });
    expect(ran.cause).toMatch(/^The bridge answered 404: /);
  });
});
