import { describe, expect, test } from 'vitest';
import {
  type ObservedReading,
  type ReadingProject,
  readingContextOf,
} from '../../../../functions/poller/project/recording/reading-context.ts';
import type { CommandRecord } from '../../../../shared/core/records/command-record.ts';
import type { ProjectRecord } from '../../../../shared/core/records/project-record.ts';
import { normaliseTimestamp, type Timestamp } from '../../../../shared/core/time/timestamp.ts';
import { anOperation } from '../../../builders.ts';

const options = { backfill: 'open', walkLimits: { overlapMs: 5 * 60_000 } } as const;

function at(time: string): Timestamp {
  return normaliseTimestamp(`2026-11-20T${time}Z`) as Timestamp;
}

function readAt(created_at: string, recorded?: ObservedReading['recorded']): ObservedReading {
  const reading = anOperation({ id: 'op-1', created_at: `2026-11-20T${created_at}Z` });
  return { account_id: 'main', nowMs: 0, requestedMs: 0, observed_by: 'poll', recorded, reading };
}

function aProject(fields: Partial<ProjectRecord> = {}): ReadingProject {
  return { project: fields as ProjectRecord, commands: [], bootAt: at('08:00:00') };
}

describe('the context of a reading', () => {
  test('an unknown operation from before the account was first polled is history', () => {
    const context = readingContextOf(readAt('07:59:59'), aProject(), options);

    expect(context).toMatchObject({ observed_by: 'backfill', history: { backfill: 'open' } });
  });

  test("the project's own end of history wins over the account's", () => {
    const project = aProject({ history_until: at('07:00:00') });

    expect(readingContextOf(readAt('07:59:59'), project, options).history).toBeUndefined();
  });

  test('a recorded operation is neither history nor late', () => {
    const recorded = {} as NonNullable<ObservedReading['recorded']>;
    const context = readingContextOf(readAt('07:00:00', recorded), aProject(), options);

    expect(context.observed_by).toBe('poll');
    expect(context).not.toHaveProperty('history');
    expect(context).not.toHaveProperty('late');
  });

  test.each([
    ['08:54:59', true],
    ['08:55:00', false],
    ['09:00:01', false],
  ])('of a watermark at nine, a new row from %s is late: %s', (createdAt, late) => {
    const project = aProject({ watermark: at('09:00:00') });

    expect(readingContextOf(readAt(createdAt), project, options).late).toBe(late);
  });

  test('names the command that started the operation', () => {
    const command = {
      operation_ids: ['op-1'],
      client_id: 'alice',
      request_id: 'r-1',
    } as unknown as CommandRecord;
    const project = { ...aProject(), commands: [command] };

    const context = readingContextOf(readAt('09:00:00'), project, options);

    expect(context.command).toEqual({ client_id: 'alice', request_id: 'r-1' });
  });
});
