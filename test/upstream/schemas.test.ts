import { describe, expect, test } from 'vitest';
import { operationSchema, parseRows, projectSchema } from '../../shared/upstream/calls/schemas.ts';

const ROW = { id: '1', status: 'running', created_at: '2016-01-01T00:00:00Z' };
const schema = operationSchema('quiet-pond-12345678');
const parse = (fields: object) => schema.safeParse({ ...ROW, ...fields });

describe('a row of an operation', () => {
  test.each([
    ['branch_id', 7],
    ['endpoint_id', {}],
    ['total_duration_ms', -1],
    ['total_duration_ms', 'long'],
    ['error', ['x']],
    ['error', null],
  ])('survives a hint of another type: %s = %j', (field, value) => {
    const parsed = parse({ [field]: value });

    expect(parsed.success).toBe(true);
    expect(parsed.data).toHaveProperty(field, undefined);
  });

  test.each([
    ['id', 7],
    ['id', 'a/b'],
    ['id', '..'],
    ['status', 1],
    ['created_at', undefined],
    ['created_at', '2'.repeat(65)],
    ['updated_at', 5],
    ['failures_count', '2'],
    ['failures_count', -1],
    ['project_id', 'A#B'],
  ])('is malformed when what decides a state or a key is wrong: %s = %j', (field, value) => {
    expect(parse({ [field]: value }).success).toBe(false);
  });

  test('keeps long texts as far as they go, and never half a character', () => {
    const parsed = parse({ status: `${'x'.repeat(99)}🙂`, error: `${'x'.repeat(1_999)}🙂` });

    expect(parsed.data?.status).toHaveLength(100);
    expect(parsed.data?.error).toHaveLength(2_000);
    expect([parsed.data?.status.isWellFormed(), parsed.data?.error?.isWellFormed()]).toEqual([true, true]);
  });

  test.each(['', 'x'.repeat(1_975)])('keeps no secret of an error, wherever the text is cut', (before) => {
    const error = `${before} postgres://role:canary0123456789@host/db refused`;

    expect(parse({ error }).data?.error).not.toContain('canary');
    expect(parse({ error }).data?.error).toContain(
      'postgres://role:[hidden]'.slice(0, 2_000 - before.length - 1),
    );
  });

  test('leaves out fields that are not in the schema', () => {
    expect(parse({ connection_uri: 'postgres://' }).data).not.toHaveProperty('connection_uri');
  });
});

describe('a row of a project', () => {
  test.each([{ name: null }, { name: 7 }, { created_at: false }, { updated_at: 'x'.repeat(100) }])(
    'needs only its id: %j',
    (fields) => {
      expect(projectSchema.safeParse({ id: 'quiet-pond-12345678', ...fields }).success).toBe(true);
    },
  );

  test('keeps what it does not know', () => {
    expect(projectSchema.parse({ id: 'a', pg_version: 17 })).toMatchObject({ pg_version: 17 });
  });

  test('cannot change what other objects inherit', () => {
    projectSchema.safeParse(JSON.parse('{"id":"a","__proto__":{"polluted":true}}'));

    expect({}).not.toHaveProperty('polluted');
  });
});

test('bad rows are counted and cost the others nothing', () => {
  expect(parseRows([null, ROW, [], 'x', { ...ROW, id: '2' }], schema)).toMatchObject({
    rows: [{ id: '1' }, { id: '2' }],
    malformedRowCount: 3,
  });
});
