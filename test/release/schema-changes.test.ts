/** Holds the events against those of the last release, which consumers read. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../../infra/release/root.ts';
import { breakingChanges, type EventSchema } from '../../infra/release/schema-changes.ts';

const KEPT = join(ROOT, 'test/fixtures/event-schemas');
const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
const lastRelease = /^## (\d+\.\d+\.\d+)$/m.exec(changelog)?.[1] ?? 'none';
const schemaIn = (folder: string, file: string) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as EventSchema;

/**
 * A value more can break a consumer that refuses unknown values, so it is announced in the changelog. The list begins
 * anew with each release.
 */
const ANNOUNCED: Readonly<Record<string, readonly string[]>> = {
  'command-settled.schema.json': ['refused', 'expired', 'cancelled', 'unknown'],
};

describe('the events', () => {
  const files = readdirSync(join(KEPT, lastRelease));

  test('are compared with those of the last release in the changelog', () => {
    expect(readdirSync(KEPT)).toContain(lastRelease);
    expect(files.length).toBeGreaterThan(7);
  });

  test.each(files)('%s breaks no consumer of the last release, except as announced', (file) => {
    const announced = (ANNOUNCED[file] ?? []).map((value) => `outcome can also be ${value}`);

    expect(
      breakingChanges(schemaIn(join(KEPT, lastRelease), file), schemaIn(join(ROOT, 'docs/schemas'), file)),
    ).toEqual(announced);
  });

  test('have no announced value that the changelog does not name', () => {
    const unreleased = changelog.slice(0, changelog.indexOf(`## ${lastRelease}`));

    for (const value of Object.values(ANNOUNCED).flat()) expect(unreleased).toContain(`\`${value}\``);
  });
});

describe('a change', () => {
  const before = {
    title: 'Operation State Changed',
    type: 'object',
    properties: {
      id: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
      sequence: { type: 'integer', exclusiveMinimum: 0 },
      reason: { type: 'string', enum: ['gone', 'not_read'] },
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
    ['an open set', withField('reason', { type: 'string' }), 'reason can have any value'],
    ['a closed set', withField('id', { type: 'string', const: 'x' }), 'id is narrowed to x'],
    [
      'another bound',
      withField('sequence', { type: 'integer', minimum: 0 }),
      'sequence has another minimum: 0 instead of null',
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
    ['an optional field that became required', { ...before, required: [...before.required, 'branch_id'] }],
    ['another description', withField('id', { type: 'string', description: 'The same on every copy.' })],
  ])('that is %s breaks no consumer', (_what, after) => {
    expect(breakingChanges(before, after)).toEqual([]);
  });
});
