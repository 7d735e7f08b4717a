/**
 * Keeps the files of a data folder: small ones that are written once and read at every start, for the identity of the
 * upstream, the random secrets and the port of the simulated upstream, and logs to which whole lines are appended. A
 * crash or a full disk leaves none of them half-written.
 */

import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../process/command.ts';
import { isSystemError, reasonOf } from '../process/operating-system.ts';

/** Only its owner can read the file, because it is kept beside a key. */
const MODE = 0o600;

/** Returns the content of the file, which is written first when there is none. */
function keptText(path: string, firstText: () => string): string {
  if (!existsSync(path)) writeWhole(path, firstText());
  return readFileSync(path, 'utf8');
}

/** Writes under another name and renames, so that no reader sees a part of the file. */
function writeWhole(path: string, text: string): void {
  const draft = `${path}.draft`;
  const file = openSync(draft, 'w', MODE);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}

export interface LineFile {
  /** Throws the system's error when the line is not in the file afterwards. */
  append(line: string): void;
}

export interface LineFileOptions {
  /** Gets one sentence when lines cannot be written any more, and one when they can again. */
  readonly say: (sentence: string) => void;
  /** The sentence says what an unwritten line means. */
  readonly whenFull: string;
  readonly write?: (path: string, text: string) => void;
}

const NEWLINE = '\n';

export function openLineFile(path: string, options: LineFileOptions): LineFile {
  const { say, whenFull, write = appendFileSync } = options;
  let isTorn = !endsWithLine(path);
  let isFailing = false;
  if (isTorn)
    say(`${path} ended in the middle of a line (a crash or a full disk); that line is ended there.`);

  return {
    append(line) {
      try {
        write(path, `${isTorn ? NEWLINE : ''}${line}${NEWLINE}`);
      } catch (error) {
        if (!isFailing) say(`${path} cannot be written (${reasonOf(error)}); ${whenFull}`);
        isFailing = true;
        isTorn = !endsWithLine(path);
        throw error;
      }
      if (isFailing) say(`${path} can be written again.`);
      isFailing = false;
      isTorn = false;
    },
  };
}

/** Returns true also for a file that does not exist yet or is empty. */
function endsWithLine(path: string): boolean {
  // Only its owner can read the file, because its lines are about an account.
  const file = openSync(path, 'a+', 0o600);
  try {
    const sizeBytes = fstatSync(file).size;
    if (sizeBytes === 0) return true;
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, sizeBytes - 1);
    return last.toString() === NEWLINE;
  } finally {
    closeSync(file);
  }
}

const identitySchema = z.object({
  upstream: z.string(),
  speed: z.number().min(1),
  /** The clocks of an accelerated or resumed run agree with real time at this instant, in ms since the epoch. */
  originMs: z.int().nonnegative(),
});

/** The file with the identity of a data folder. */
export const IDENTITY_FILE = 'bridge.json';

export type Identity = z.output<typeof identitySchema>;

/** Returns undefined when there is no such file, or when it cannot be read, which is told when the folder is opened. */
export function knownIdentity(path: string): Identity | undefined {
  try {
    return identitySchema.safeParse(jsonOf(readFileSync(path, 'utf8'))).data;
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

/**
 * Throws a `UsageError` when the folder belongs to another upstream or speed, because its state would make no sense.
 */
export function identify(path: string, now: Identity): Identity {
  const known = parseIdentity(
    path,
    keptText(path, () => `${JSON.stringify(now, null, 2)}\n`),
  );
  if (known.upstream === now.upstream && known.speed === now.speed) return known;
  throw new UsageError(
    `The folder of --data belongs to another run (${known.upstream}, speed ${known.speed}); choose another folder, or leave these options out.`,
  );
}

function parseIdentity(path: string, text: string): Identity {
  const parsed = identitySchema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const fault = text.trim() === '' ? 'is empty' : 'is cut short or damaged';
  throw new UsageError(
    `${path} ${fault}, so it is unknown which upstream this state belongs to; delete that file if it is the --upstream that you give now, or choose another folder.`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const SECRET_BYTES = 32;

/** Returns a new random secret in hex. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

/** Throws a `UsageError` when the file is not a whole pepper, because with a part of it no token would be valid. */
export function keptPepper(path: string): string {
  return keptSecret(path, {
    what: 'pepper',
    so: 'no token of an earlier run can be checked; delete that file, and issue the tokens again',
  });
}

/** Throws a `UsageError` when the file is not a whole key, because with a part of it no waiting command could be opened. */
export function keptQueueKey(path: string): string {
  return keptSecret(path, {
    what: 'key',
    so: 'no command that waits can be opened; delete that file, and send again what ends as failed',
  });
}

function keptSecret(path: string, { what, so }: { readonly what: string; readonly so: string }): string {
  const secret = keptText(path, newSecret).trim();
  if (secret.length === SECRET_BYTES * 2 && /^[0-9a-f]+$/.test(secret)) return secret;
  const fault = secret === '' ? 'is empty' : `is not a whole ${what}`;
  throw new UsageError(`${path} ${fault}, so ${so}.`);
}

const PORT_MAX = 65_535;

export interface UpstreamPort {
  /** The simulated upstream had this port in earlier runs. It is undefined when there was none. */
  readonly known: number | undefined;
  /** Keeps the port of the first run. The next runs have the same one. */
  keep(port: number): void;
  /** Says what to do when the known port cannot be had for this reason. */
  refusal(reason: string): UsageError;
}

/** Throws a `UsageError` when the file does not hold a port. */
export function keptUpstreamPort(path: string): UpstreamPort {
  const known = existsSync(path)
    ? parsePort(
        path,
        keptText(path, () => ''),
      )
    : undefined;
  return {
    known,
    keep: (port) => void keptText(path, () => `${port}\n`),
    refusal: (reason) =>
      new UsageError(
        `Port ${known}, which the simulated upstream of this folder has in every run, cannot be used (${reason}). Stop the program that uses it, or delete ${path}: the upstream then gets another port, and ${ADDED_AGAIN}.`,
      ),
  };
}

const ADDED_AGAIN = 'accounts that were added must be removed and added again';

function parsePort(path: string, text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  if (port >= 1 && port <= PORT_MAX) return port;
  const fault = text.trim() === '' ? 'is empty' : 'does not hold the number of a port';
  throw new UsageError(
    `${path} ${fault}, so it is unknown where the simulated upstream was in earlier runs. Write the port there that "operations-bridge accounts list --json" has shown, or delete that file: ${ADDED_AGAIN}.`,
  );
}
