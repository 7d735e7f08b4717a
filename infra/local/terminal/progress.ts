/** Shows a person what the poller's log says: how far the first reading of the projects is, and what went wrong. */

import { type LineStyle, paint } from './event-line.ts';

export interface ProgressSurroundings {
  readonly print: (line: string) => void;
  readonly style: LineStyle;
}

/** Prints a line at every tenth of the first reading of the projects, and one when all are read. */
export function createProgress({ print, style }: ProgressSurroundings): (logLine: string) => void {
  let projectCount = 0;
  let readCount = 0;
  return (logLine) => {
    const entry = parseLogLine(logLine);
    if (entry === undefined) return;
    if (entry['message'] === 'projects.listed' && projectCount === 0)
      projectCount = Number(entry['project_count']);
    if (entry['message'] === 'project.read') {
      readCount += 1;
      const step = Math.max(1, Math.ceil(projectCount / 10));
      const isReported = readCount <= projectCount && (readCount % step === 0 || readCount === projectCount);
      if (isReported)
        print(paint('gray', `          ${readCount} of ${projectCount} projects read so far`, style));
    }
    if (entry['level'] === 'ERROR') print(paint('red', `poller: ${describe(entry)}`, style));
  };
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function describe(entry: Readonly<Record<string, unknown>>): string {
  const { message, reason, advice } = entry;
  return [message, reason, advice].filter((part) => typeof part === 'string').join(', ');
}
