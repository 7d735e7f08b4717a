/** Holds the events against those of the last release, which consumers read. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../infra/release/project.ts';
import { breakingChanges, type EventSchema } from './schema-changes.ts';

const KEPT = join(ROOT, 'test/fixtures/event-schemas');
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const lastRelease = /^## (\d+\.\d+\.\d+)$/m.exec(changelog)?.[1] ?? 'none';
const schemaIn = (folder: string, file: string) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as EventSchema;

/**
 * A set that is opened can break a consumer that refuses unknown values, so it is announced in the changelog. The list
 * begins anew with each release.
 */
const OPENED: Readonly<Record<string, readonly string[]>> = {
  'account-degraded.schema.json': ['reason'],
  'account-recovered.schema.json': ['reason'],
  'command-settled.schema.json': ['outcome'],
  'operation-state-changed.schema.json': ['observed_by'],
  'operation-watch-ended.schema.json': ['reason'],
};

describe('the events', () => {
  const files = readdirSync(join(KEPT, lastRelease));

  test('are compared with those of the last release in the changelog', () => {
    expect(readdirSync(KEPT)).toContain(lastRelease);
    expect(files.length).toBeGreaterThan(7);
  });

  test.each(files)('%s breaks no consumer of the last release, except as announced', (file) => {
    const announced = (OPENED[file] ?? []).map((field) => `${field} can have any value`);

    expect(
      breakingChanges(schemaIn(join(KEPT, lastRelease), file), schemaIn(join(ROOT, 'docs/schemas'), file)),
    ).toEqual(announced);
  });

  test('have no opened set that the changelog does not name', () => {
    const unreleased = changelog.slice(0, changelog.indexOf(`## ${lastRelease}`));
    const [, opened = ''] = /^#### Opened sets$([\s\S]*?)^####/m.exec(unreleased) ?? [];

    for (const field of Object.values(OPENED).flat()) expect(opened).toContain(`\`${field}\``);
  });

  test.each(readdirSync(join(ROOT, 'docs/schemas')))('%s has no set that is closed', (file) => {
    const text = readFileSync(join(ROOT, 'docs/schemas', file), 'utf8');

    expect(text).not.toContain('"enum"');
  });
});

describe('a change', () => {
  const before = {
    title: 'Operation State Changed',
    type: 'object',
    properties: {
      id: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
      observed_at: { type: 'string', format: 'date-time', pattern: '^\\d{4}-' },
      sequence: { type: 'integer', exclusiveMinimum: 0 },
      reason: { type: 'string', enum: ['gone', 'not_read'] },
      state: { type: 'string', examples: ['active', 'idle'] },
      previous_state: { anyOf: [{ type: 'string', examples: ['active', 'idle'] }, { type: 'null' }] },
      branch_id: { type: 'string' },
      operations: {
        type: 'array',
        items: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] },
      },
      command: {
        type: 'object',
        properties: { client_id: { type: 'string' } },
        required: ['client_id'],
      },
    },
    required: ['id', 'at', 'sequence', 'reason', 'operations'],
  } satisfies EventSchema;
  const { id, ...withoutId } = before.properties;
  const withField = (name: string, field: EventSchema): EventSchema => ({
    ...before,
    properties: { ...before.properties, [name]: field },
  });

  test.each<[string, EventSchema, string]>([
    ['a removed field', { ...before, properties: withoutId }, 'id was removed'],
    ['a removed optional field', { ...before, properties: { id } }, 'branch_id was removed'],
    [
      'a required field that became optional',
      { ...before, required: ['at', 'sequence', 'reason', 'operations'] },
      'id can be absent',
    ],
    ['another type', withField('id', { type: 'integer' }), 'id is no longer string'],
    [
      'a narrowed type',
      withField('sequence', { type: 'string', exclusiveMinimum: 0 }),
      'sequence is no longer integer',
    ],
    ['a type more', withField('id', { type: ['string', 'null'] }), 'id can also be null'],
    [
      'a type more, as an alternative',
      withField('id', { anyOf: [{ type: 'string' }, { type: 'null' }] }),
      'id can also be null',
    ],
    [
      'a value less',
      withField('reason', { type: 'string', enum: ['gone'] }),
      'reason is never not_read any more',
    ],
    [
      'a value more',
      withField('reason', { type: 'string', enum: ['gone', 'not_read', 'asleep'] }),
      'reason can also be asleep',
    ],
    [
      'a known value less of an open set',
      withField('state', { type: 'string', examples: ['active'] }),
      'state is never idle any more',
    ],
    [
      'a known value less of an open set that can be null',
      withField('previous_state', { anyOf: [{ type: 'string', examples: ['idle'] }, { type: 'null' }] }),
      'previous_state is never active any more',
    ],
    [
      'an open set that is closed',
      withField('state', { type: 'string', enum: ['active', 'idle'] }),
      'state is narrowed to active, idle',
    ],
    ['an open set', withField('reason', { type: 'string' }), 'reason can have any value'],
    ['a closed set', withField('id', { type: 'string', const: 'x' }), 'id is narrowed to x'],
    [
      'another bound',
      withField('sequence', { type: 'integer', minimum: 0 }),
      'sequence has another minimum: 0 instead of null',
    ],
    [
      'a format less beside its pattern',
      withField('observed_at', { type: 'string', pattern: '^\\d{4}-' }),
      'observed_at has another format: null instead of "date-time"',
    ],
    [
      'a format less',
      withField('at', { type: 'string' }),
      'at has another format: null instead of "date-time"',
    ],
    [
      'a removed field of an object',
      withField('command', { type: 'object', properties: {}, required: [] }),
      'command.client_id was removed',
    ],
    [
      'a field of a list that became optional',
      withField('operations', {
        type: 'array',
        items: { type: 'object', properties: { status: { type: 'string' } } },
      }),
      'operations[].status can be absent',
    ],
    [
      'another name',
      { ...before, title: 'Operation Changed' },
      'the event has another name: Operation Changed',
    ],
  ])('that is %s breaks consumers', (_what, after, sentence) => {
    expect(breakingChanges(before, after)).toContain(sentence);
  });

  test.each<[string, EventSchema]>([
    ['nothing', before],
    ['a new optional field', withField('of_the_future', { type: 'string' })],
    [
      'a new required field',
      { ...withField('of_the_future', { type: 'string' }), required: [...before.required, 'of_the_future'] },
    ],
    [
      'a pattern less beside the format that it stands for',
      withField('observed_at', { type: 'string', format: 'date-time' }),
    ],
    [
      'a value more of an open set',
      withField('state', { type: 'string', examples: ['idle', 'active', 'x'] }),
    ],
    ['an optional field that became required', { ...before, required: [...before.required, 'branch_id'] }],
    ['another description', withField('id', { type: 'string', description: 'The same on every copy.' })],
  ])('that is %s breaks no consumer', (_what, after) => {
    expect(breakingChanges(before, after)).toEqual([]);
  });
});
