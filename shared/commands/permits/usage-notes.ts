/** Exchanges usage between the instances of the API through the table, with at most one write a second. */

import { USAGE_NOTE_MS } from '../../core/rates/account-rate.ts';
import type { Clock } from '../../runtime/clock.ts';
import { toError } from '../../runtime/errors.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type {
  AskedPermits,
  CommandUsage,
  GrantedPermits,
  NewUsage,
  NoPermits,
  UsageSums,
} from '../../store/command-usage.ts';
import { UnnotedUsage } from './unnoted-usage.ts';

export interface UsageNotesOptions {
  readonly clock: Clock;
  readonly usage: CommandUsage;
  readonly telemetry: Telemetry;
  /** Is called with the sums that a note returns, and with what the note itself has added to them. */
  readonly learn: (sums: UsageSums, added: ReadonlyMap<string, number>) => void;
}

export class UsageNotes {
  readonly #options: UsageNotesOptions;
  readonly #unnoted = new UnnotedUsage();
  readonly #underWay = new Set<Promise<unknown>>();
  #writableAtMs = Number.NEGATIVE_INFINITY;
  #nextPlaceMs = 0;
  #hasFailed = false;

  constructor(options: UsageNotesOptions) {
    this.#options = options;
  }

  /** Counts 1 more request under this name. Counting 0 only asks what the others have counted under it. */
  count(name: string, by: 0 | 1): void {
    this.#unnoted.count(name, by);
  }

  /** Counts one request that has left this instance. */
  countSent(): void {
    this.#unnoted.countSent();
  }

  /** Returns true when the table has not taken the last note, so that the other instances know nothing of what is done here. */
  hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Returns when the next note may be written. */
  writableAtMs(): number {
    return this.#writableAtMs;
  }

  /** Returns the place of the next permit that the table's last answer gave, in ms since the epoch. */
  nextPlaceMs(): number {
    return this.#nextPlaceMs;
  }

  /** Starts a note if one may be written now, and does not wait for its end. */
  noteSoon(): void {
    if (this.#options.clock.now() >= this.#writableAtMs) void this.note();
  }

  async note(): Promise<void> {
    await this.#write((noted) => this.#options.usage.note(noted));
  }

  /**
   * Notes usage and asks for permits in one write. The waiting requests are noted as if they had left. Resolves to
   * undefined when the table did not answer.
   */
  async noteAndAsk(
    asked: AskedPermits,
    waitingCount: number,
  ): Promise<GrantedPermits | NoPermits | undefined> {
    const answer = await this.#write((noted) => {
      const requestCount = noted.requestCount + waitingCount;
      return this.#options.usage.noteAndAsk({ ...noted, requestCount }, asked);
    });
    if (answer !== undefined && answer.permitCount > 0) this.#unnoted.countNotedAhead(waitingCount);
    return answer;
  }

  /** Resolves when no note is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #write<T extends UsageSums | NoPermits>(send: (noted: NewUsage) => Promise<T>): Promise<T | undefined> {
    const written: Promise<T | undefined> = this.#writeNow(send).finally(() =>
      this.#underWay.delete(written),
    );
    this.#underWay.add(written);
    return written;
  }

  async #writeNow<T extends UsageSums | NoPermits>(
    send: (noted: NewUsage) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, telemetry } = this.#options;
    const noted = this.#unnoted.take(clock.now());
    this.#writableAtMs = Math.max(this.#writableAtMs, clock.now()) + USAGE_NOTE_MS;
    try {
      const answer = await send(noted);
      this.#hasFailed = false;
      this.#writableAtMs += (answer.writeCount - 1) * USAGE_NOTE_MS;
      this.#learnFrom(answer, noted);
      return answer;
    } catch (error) {
      this.#hasFailed = true;
      this.#unnoted.putBack(noted);
      telemetry.log('warn', 'usage.not_noted', { reason: toError(error).name });
      return undefined;
    }
  }

  /** When the table refuses permits, it has counted nothing either. */
  #learnFrom(answer: UsageSums | NoPermits, noted: NewUsage): void {
    if ('members' in answer) {
      this.#nextPlaceMs = answer.nextAtMs;
      this.#options.learn(answer, noted.members);
    } else this.#unnoted.putBack(noted);
  }
}
