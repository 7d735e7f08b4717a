/** Shows a person what the poller's log says: how far the first reading of the projects is, and what went wrong. */

import { type LineStyle, paint } from './event-line.ts';

export interface ProgressSurroundings {
  readonly print: (line: string) => void;
  readonly style: LineStyle;
}

interface Reading {
  /** It is 0 until the projects are listed. */
  projectCount: number;
  readCount: number;
}

/**
 * Prints a line at every tenth of the first reading of an account's projects, and one when all are read. Lines name the
 * account from the moment at which there is more than one.
 */
export function createProgress({ print, style }: ProgressSurroundings): (logLine: string) => void {
  const readings = new Map<unknown, Reading>();
  const readingOf = (accountId: unknown): Reading => {
    const reading = readings.get(accountId) ?? { projectCount: 0, readCount: 0 };
    readings.set(accountId, reading);
    return reading;
  };
  return (logLine) => {
    const entry = parseLogLine(logLine);
    if (entry === undefined) return;
    const { account_id: accountId } = entry;
    if (entry['message'] === 'projects.listed')
      readingOf(accountId).projectCount ||= Number(entry['project_count']);
    if (entry['message'] === 'project.read') {
      const reading = readingOf(accountId);
      reading.readCount += 1;
      const whose = readings.size > 1 ? ` of ${String(accountId)}` : '';
      if (isReported(reading))
        print(
          paint(
            'gray',
            `          ${reading.readCount} of ${reading.projectCount} projects${whose} read so far`,
            style,
          ),
        );
    }
    if (entry['level'] === 'ERROR') print(paint('red', `poller: ${describe(entry)}`, style));
  };
}

function isReported({ projectCount, readCount }: Reading): boolean {
  const step = Math.max(1, Math.ceil(projectCount / 10));
  return readCount <= projectCount && (readCount % step === 0 || readCount === projectCount);
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The account comes first, and what to do last. Lines about a whole lane have no account. */
function describe(entry: Readonly<Record<string, unknown>>): string {
  const { account_id, message, reason, detail, advice } = entry;
  const [account = ''] = [account_id].filter(isText).map((id) => `account ${id}: `);
  const what = [message, reason, detail].filter(isText).join(', ');
  return `${account}${what}${isText(advice) ? `. ${advice}` : ''}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
