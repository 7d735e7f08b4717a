import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startWalk, takePage } from '../../functions/poller/project/walk.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { renderEvent } from '../../shared/events/render-event.ts';
import { decideNextRecord, type Operation } from '../../shared/records/operation-record.ts';
import { secondOf } from '../../shared/records/time.ts';
import * as schemas from '../../shared/upstream/calls/schemas.ts';
import { operationSchema } from '../../shared/upstream/calls/schemas.ts';
import { aContext, NOON_MS } from '../builders.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/upstream');
const read = (file: string): unknown => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));

interface Example {
  readonly file: string;
  readonly method: string;
  readonly path: string;
}

const examples = read('index.json') as readonly Example[];
const of = (path: string) => examples.filter((example) => example.method === 'GET' && example.path === path);
const LIST = '/projects/{project_id}/operations';

describe('every payload of the public service parses', () => {
  test.each(of(LIST))('as a list of operations: $file', ({ file }) => {
    const list = schemas.operationListSchema.parse(read(file));
    const { rows, malformedRowCount } = schemas.parseRows(list.operations, operationSchema('a-project-1'));

    expect(malformedRowCount).toBe(0);
    expect(rows.length).toBe(list.operations.length);
    expect(rows.length).toBeGreaterThan(0);
  });

  test.each(of(`${LIST}/{operation_id}`))('as one operation: $file', ({ file }) => {
    const answer = schemas.operationAnswerSchema.parse(read(file));

    expect(operationSchema('a-project-1').safeParse(answer.operation).error).toBeUndefined();
  });

  test.each(of('/projects'))('as a list of projects: $file', ({ file }) => {
    const list = schemas.projectListSchema.parse(read(file));
    const { rows, malformedRowCount } = schemas.parseRows(list.projects, schemas.projectSchema);

    expect(malformedRowCount).toBe(0);
    expect(rows.length).toBe(list.projects.length);
  });

  const withEndpoint = examples.filter(({ file }) => 'endpoint' in (read(file) as object));
  test.each(withEndpoint.filter(({ file }) => !file.startsWith('climock.')))(
    'as a compute endpoint: $file',
    ({ file }) => {
      const { endpoint } = read(file) as { endpoint: unknown };

      expect(schemas.endpointSchema.safeParse(endpoint).error).toBeUndefined();
    },
  );
});

describe('every operation of a payload goes through the engine', () => {
  const withOperations = examples.filter(({ file }) => 'operations' in (read(file) as object));

  test.each(withOperations)('$file', ({ file }) => {
    const { operations, pagination } = read(file) as {
      operations: unknown[];
      pagination?: { cursor?: string };
    };
    const { rows } = schemas.parseRows<Operation>(operations, operationSchema('a-project-1'));

    for (const row of rows) {
      const record = decideNextRecord(undefined, row, aContext());
      const [entry] = record?.entries ?? [];
      if (record === undefined || entry === undefined) throw new Error(`${row.id} gave no event`);
      const detail: unknown = JSON.parse(renderEvent(record, entry).detail);
      expect(operationStateChanged.detail.strict().safeParse(detail).error).toBeUndefined();
      expect(decideNextRecord(record, row, aContext())).toBeUndefined();
    }
    const limits = { firstPageRows: 100, widePageRows: 1_000, pagesMax: 20, overlapMs: 300_000 };
    const readAt = secondOf(NOON_MS);
    const page = {
      operations: rows,
      malformedRowCount: 0,
      cursor: pagination?.cursor,
      readAt,
      readBy: readAt,
    };
    const nothing = { ...page, operations: [], cursor: undefined };
    expect([page, nothing].reduce(takePage, startWalk(undefined, limits)).hasArrived).toBe(true);
  });
});
