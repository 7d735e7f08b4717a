/** What `--data` keeps: the tables, every event, the poller's log, and which simulated world it belongs to. */

import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeliveredEvent } from './aws/deliveries.ts';
import { UsageError } from './option-values.ts';
import type { StartOptions } from './start-options.ts';

export interface DataFolder {
  readonly tablesDir: string | undefined;
  /** Where the clocks of an accelerated or resumed run agree with real time. */
  readonly originMs: number;
  /** Before PutEvents answers: an accepted event survives a kill, as it does on AWS. */
  keepEvent(event: DeliveredEvent): void;
  keepLogLine(line: string): void;
  /** Keys the hashes of tokens: the tokens of one run are good in the next. */
  readonly pepper: string;
}

interface Identity {
  readonly upstream: string;
  readonly speed: number;
  readonly originMs: number;
}

/** Throws `UsageError` when the folder belongs to another upstream or speed: its state would make no sense. */
export function openDataFolder({ dataDir, upstream, speed }: StartOptions, nowMs: number): DataFolder {
  if (dataDir === undefined) {
    const pepper = newPepper();
    return { tablesDir: undefined, originMs: nowMs, keepEvent: () => {}, keepLogLine: () => {}, pepper };
  }
  makeFolder(dataDir);
  claim(join(dataDir, 'bridge.pid'));
  const name =
    upstream.kind === 'real'
      ? upstream.baseUrl
      : `simulated, seed ${upstream.seed}, ${upstream.projectCount} projects`;
  const { originMs } = identify(join(dataDir, 'bridge.json'), { upstream: name, speed, originMs: nowMs });
  return {
    tablesDir: makeFolder(join(dataDir, 'tables')),
    originMs,
    keepEvent: (event) =>
      appendFileSync(join(dataDir, 'events.jsonl'), `${JSON.stringify(event)}\n`, OWN_FILE),
    keepLogLine: (line) => appendFileSync(join(dataDir, 'poller.log'), `${line}\n`, OWN_FILE),
    pepper: keptPepper(join(dataDir, 'token-pepper')),
  };
}

/** What stands there is of an account: nobody else on the machine may read it. */
const OWN_FILE = { mode: 0o600 } as const;

function newPepper(): string {
  return randomBytes(32).toString('hex');
}

/** Readable by its owner alone. */
function keptPepper(path: string): string {
  if (!existsSync(path)) writeFileSync(path, newPepper(), OWN_FILE);
  return readFileSync(path, 'utf8').trim();
}

/** A bridge that was killed leaves its number behind; only one that still runs keeps others out. */
function claim(path: string): void {
  const holder = existsSync(path) ? Number(readFileSync(path, 'utf8')) : process.pid;
  if (holder !== process.pid && isRunning(holder)) {
    throw new UsageError(
      `The folder of --data is in use by another bridge (process ${holder}); stop it, or choose another folder.`,
    );
  }
  writeFileSync(path, String(process.pid), OWN_FILE);
}

/** Signal 0 reaches a process without touching it. */
function isRunning(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

function makeFolder(dataDir: string): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return dataDir;
  } catch (error) {
    throw new UsageError(`--data is "${dataDir}", which cannot be made a folder.`, { cause: error });
  }
}

function identify(path: string, now: Identity): Identity {
  if (!existsSync(path)) {
    writeFileSync(path, `${JSON.stringify(now, null, 2)}\n`, OWN_FILE);
    return now;
  }
  const known = JSON.parse(readFileSync(path, 'utf8')) as Identity;
  if (known.upstream === now.upstream && known.speed === now.speed) return known;
  throw new UsageError(
    `The folder of --data belongs to another run (${known.upstream}, speed ${known.speed}); choose another folder, or the same options.`,
  );
}
