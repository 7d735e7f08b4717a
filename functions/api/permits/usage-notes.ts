/** What an instance of the API tells the others through the table, and hears of them: one write a second at the most. */

import { USAGE_NOTE_MS } from '../../../shared/core/rates/account-rate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type {
  AskedPermits,
  CommandUsage,
  GrantedPermits,
  NewUsage,
  NoPermits,
  UsageSums,
} from '../../../shared/store/command-usage.ts';
import { WINDOW_MS } from './shared-use.ts';

export interface UsageNotes {
  /** So many more under this name; none: to hear what others have counted. */
  count(name: string, by: 0 | 1): void;
  /** One request has left. */
  countSent(): void;
  /** When the next note may be written. */
  writableAtMs(): number;
  /** Where the next permit stood in the table at the last answer. */
  nextPlaceMs(): number;
  /** Notes what is not noted yet, if a note may be written by now. */
  noteSoon(): void;
  note(): Promise<void>;
  /** Undefined: the table did not answer. Requests that wait for the answer are noted as if they had left. */
  noteAndAsk(asked: AskedPermits, waitingCount: number): Promise<GrantedPermits | NoPermits | undefined>;
  /** Resolves when no note is under way. */
  settled(): Promise<void>;
}

/** Of one note, so that its write stays small; whoever is left over goes along with the next. */
const NOTED_NAMES_MAX = 50;

export function createUsageNotes(options: {
  readonly clock: Clock;
  readonly usage: CommandUsage;
  readonly telemetry: Pick<Telemetry, 'log'>;
  readonly learn: (sums: UsageSums, added: ReadonlyMap<string, number>) => void;
}): UsageNotes {
  const { clock, usage, telemetry, learn } = options;
  let sentCount = 0;
  /** Noted, and not yet sent. */
  let notedAheadCount = 0;
  let counts = new Map<string, number>();
  let writableAtMs = Number.NEGATIVE_INFINITY;
  let nextPlaceMs = 0;
  const underWay = new Set<Promise<unknown>>();

  const notes: UsageNotes = {
    count: add,
    countSent() {
      if (notedAheadCount > 0) notedAheadCount -= 1;
      else sentCount += 1;
    },
    writableAtMs: () => writableAtMs,
    nextPlaceMs: () => nextPlaceMs,
    noteSoon() {
      if (clock.now() >= writableAtMs) void notes.note();
    },
    async note() {
      await write((noted) => usage.note(noted));
    },
    async noteAndAsk(asked, waitingCount) {
      const answer = await write((noted) => {
        const requestCount = noted.requestCount + waitingCount;
        return usage.noteAndAsk({ ...noted, requestCount }, asked);
      });
      if (answer !== undefined && answer.permitCount > 0) notedAheadCount += waitingCount;
      return answer;
    },
    async settled() {
      await Promise.all(underWay);
    },
  };
  return notes;

  function add(name: string, by: number): void {
    counts.set(name, (counts.get(name) ?? 0) + by);
  }

  function write<T extends UsageSums | NoPermits>(
    send: (noted: NewUsage) => Promise<T>,
  ): Promise<T | undefined> {
    const written: Promise<T | undefined> = writeNow(send).finally(() => underWay.delete(written));
    underWay.add(written);
    return written;
  }

  async function writeNow<T extends UsageSums | NoPermits>(
    send: (noted: NewUsage) => Promise<T>,
  ): Promise<T | undefined> {
    const noted = takeNoted();
    writableAtMs = Math.max(writableAtMs, clock.now()) + USAGE_NOTE_MS;
    try {
      const answer = await send(noted);
      writableAtMs += (answer.writeCount - 1) * USAGE_NOTE_MS;
      if ('members' in answer) {
        nextPlaceMs = answer.nextAtMs;
        learn(answer, noted.members);
      } else putBack(noted);
      return answer;
    } catch (error) {
      putBack(noted);
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
      return undefined;
    }
  }

  function takeNoted(): NewUsage {
    const entries = [...counts];
    const noted = { requestCount: sentCount, members: new Map(entries.slice(0, NOTED_NAMES_MAX)) };
    sentCount = 0;
    counts = new Map(entries.slice(NOTED_NAMES_MAX));
    return { ...noted, window: Math.floor(clock.now() / WINDOW_MS) };
  }

  function putBack({ requestCount, members }: NewUsage): void {
    sentCount += requestCount;
    for (const [name, by] of members) add(name, by);
  }
}
