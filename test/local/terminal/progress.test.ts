import { describe, expect, test } from 'vitest';
import { createProgress } from '../../../infra/local/run-report.ts';

/** Returns what a person reads of these log lines. */
function shown(...entries: readonly object[]): readonly string[] {
  const lines: string[] = [];
  const progress = createProgress({
    print: (line) => void lines.push(line.trim()),
    style: { isColoured: false },
  });
  for (const entry of entries) progress(JSON.stringify(entry));
  return lines;
}

const listed = (account_id: string, project_count: number) => ({
  message: 'projects.listed',
  account_id,
  project_count,
});
const read = (account_id: string) => ({ message: 'project.read', account_id });

describe("the poller's log in the terminal", () => {
  test('counts the projects of each account by themselves, and names the account when there are several', () => {
    expect(shown(listed('main', 2), read('main'), listed('tenant', 1), read('tenant'), read('main'))).toEqual(
      ['1 of 1 projects of tenant read', '2 of 2 projects of main read'],
    );
  });

  test('says that all are read when the list of projects ends after their first reading', () => {
    expect(shown(read('main'), listed('main', 1), listed('main', 1))).toEqual(['1 of 1 projects read']);
    expect(shown(read('main'), listed('main', 2), read('main'))).toEqual(['2 of 2 projects read']);
  });

  test('names the account of an error, what went wrong, and what to do', () => {
    expect(
      shown({
        level: 'ERROR',
        message: 'poll.failed',
        account_id: 'tenant',
        reason: 'UpstreamError',
        detail: 'GET /projects: the connection failed',
        advice: 'Check the upstream.',
      }),
    ).toEqual([
      'poller: account tenant: poll.failed, UpstreamError, GET /projects: the connection failed. Check the upstream.',
    ]);
  });

  test('shows an error of the whole lane without an account', () => {
    expect(shown({ level: 'ERROR', message: 'accounts.unknown', reason: 'TimeoutError' })).toEqual([
      'poller: accounts.unknown, TimeoutError',
    ]);
  });
});
