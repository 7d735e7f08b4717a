/** Reads the `events.jsonl` of a run that was killed. A torn line is counted and left out. */

import { existsSync, readFileSync } from 'node:fs';
import type { DeliveredEvent } from '../../infra/local/aws/event-bridge/deliveries.ts';

export interface EventLines {
  readonly events: readonly DeliveredEvent[];
  readonly tornCount: number;
}

export function readEventLines(path: string): EventLines {
  if (!existsSync(path)) return { events: [], tornCount: 0 };
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const events = lines.flatMap(parseLine);
  return { events, tornCount: lines.length - events.length };
}

function parseLine(line: string): readonly DeliveredEvent[] {
  try {
    return [JSON.parse(line) as DeliveredEvent];
  } catch {
    return [];
  }
}
