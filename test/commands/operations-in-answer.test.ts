/**
 * Tests that the operations in the answer to a command are found wherever they stand, each with its project, and are
 * never guessed.
 */

import { describe, expect, test } from 'vitest';
import { operationsInAnswer } from '../../shared/commands/send-command.ts';

const PROJECT_ID = 'bold-sound-12345678';
const OTHER_ID = 'calm-tree-87654321';

const row = (id: string, fields: object = {}) => ({
  id,
  project_id: PROJECT_ID,
  action: 'create_branch',
  status: 'running',
  failures_count: 0,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
  ...fields,
});

function find(body: unknown, requested?: string) {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  const { byProject, projectId } = operationsInAnswer({ status: 200, headers: {}, body: bytes }, requested);
  return {
    projectId,
    ids: [...byProject].map(([id, operations]) => [id, operations.map((each) => each.id)]),
  };
}

describe('operations in an answer', () => {
  test.each([
    ['as a list', { operations: [row('a'), row('b')] }],
    ['as single ones', { operation: row('a'), branch: { operation: row('b') } }],
    ['deep inside', { result: [{ inner: { operations: [row('a')] } }, { operation: row('b') }] }],
    ['twice', { operations: [row('a'), row('b'), row('a')] }],
  ])('are found %s', (_how, body) => {
    expect(find(body, PROJECT_ID).ids).toEqual([[PROJECT_ID, ['a', 'b']]]);
  });

  test('belong to the projects that their rows name, or else to the project of the command', () => {
    const operations = [row('a'), row('b', { project_id: OTHER_ID }), row('c', { project_id: undefined })];

    expect(find({ operations }, PROJECT_ID).ids).toEqual([
      [PROJECT_ID, ['a', 'c']],
      [OTHER_ID, ['b']],
    ]);
  });

  test('of a new project are found under its id, which the answer tells', () => {
    const answer = { project: { id: PROJECT_ID }, operations: [row('a')] };

    expect(find(answer)).toEqual({ projectId: PROJECT_ID, ids: [[PROJECT_ID, ['a']]] });
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '<html>'],
    ['a list', '[]'],
    ['a word under that name', { operation: 'upload', operations: ['x', 1, null] }],
    ['rows without an id', { operations: [{ project_id: PROJECT_ID }] }],
    ['rows of what is no project', { operations: [row('a', { project_id: '../x' })] }],
  ])('are not found in %s', (_what, body) => {
    expect(find(body, PROJECT_ID)).toEqual({ projectId: PROJECT_ID, ids: [] });
  });

  test('that cannot be read do not cost the others', () => {
    expect(find({ operations: [row('a'), { id: 7 }, row('b')] }, PROJECT_ID).ids).toEqual([
      [PROJECT_ID, ['a', 'b']],
    ]);
  });

  test('are looked for in an answer of any depth without a failure', () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;

    expect(find(deep, PROJECT_ID).ids).toEqual([]);
  });
});
