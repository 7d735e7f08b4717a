/** Defines a script: what happens at the service, on the channels and among people, minute by minute, in words and as calls. */

import type * as catalog from '../../../shared/events/catalog.ts';
import type { ChannelName, Mood } from './channels.ts';
import type { MuteAsked } from './people.ts';
import type { Operation } from './story.ts';
import type { Death, World } from './world.ts';

/** One thing that happens. The golden file shows its words. */
export interface Happening {
  readonly words: string;
  readonly perform: (world: World) => unknown;
}

export interface Step extends Happening {
  readonly atMs: number;
}

export interface Script {
  /** The golden file has this name. */
  readonly name: string;
  /** One sentence that says what the script shows. */
  readonly says: string;
  readonly policy?: object;
  /** Only these channels are set up. Without it all are. */
  readonly channels?: readonly ChannelName[];
  /** When true, the golden file shows the whole text of each message, and otherwise its first line. */
  readonly isWhole?: boolean;
  readonly steps: readonly Step[];
  readonly until: string;
  /** When true, the schedule runs every ten minutes instead of every minute, because the script takes days. */
  readonly isLong?: boolean;
  /** Operations that must not be named to people, or need not be, each with its reason. */
  readonly untold?: Readonly<Record<string, string>>;
  /** Critical news may reach a channel later than within a minute, for this reason. */
  readonly late?: string;
  /** This many messages may reach people a second time, because their answer was lost or the notifier died. */
  readonly copiesMax?: number;
  /** When true, a channel has a secret that its service does not know. */
  readonly hasWrongSecret?: boolean;
}

/** Reads `5:00` as five minutes and `1:05:00` as an hour and five minutes, in milliseconds. */
export function msOf(text: string): number {
  const [seconds = 0, minutes = 0, hours = 0] = text.split(':').map(Number).toReversed();
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

/** Places happenings at a time after the beginning. */
export function at(time: string, ...happenings: readonly Happening[]): readonly Step[] {
  return happenings.map((one) => ({ ...one, atMs: msOf(time) }));
}

/** Repeats a happening `count` times, the first at `from` and then every `every`. */
export function each(
  { from, every, count }: { readonly from: string; readonly every: string; readonly count: number },
  happeningOf: (place: number) => Happening | readonly Happening[],
): readonly Step[] {
  return Array.from({ length: count }, (_, place) => {
    const made = happeningOf(place + 1);
    const happenings = Array.isArray(made) ? (made as readonly Happening[]) : [made as Happening];
    return happenings.map((one) => ({ ...one, atMs: msOf(from) + place * msOf(every) }));
  }).flat();
}

export function operation(
  id: string,
  { project = 'shop', action = 'start_compute', account = 'main' }: Partial<Omit<Operation, 'id'>> = {},
): Operation {
  return { id, project, action, account };
}

type Fields = Partial<catalog.OperationStateChanged>;

const nameOf = ({ id, project, action, account }: Operation) =>
  `${id} (${action} in ${project}${account === 'main' ? '' : ` of ${account}`})`;

/** The operation has failed this many times. */
export function fails(one: Operation, failures = 1, fields: Fields = {}): Happening {
  return {
    words: `${nameOf(one)} has failed ${times(failures)}${said(fields)}`,
    perform: ({ story }) => story.changes(one, 'failed', { failures_count: failures, ...fields }),
  };
}

/** A failed attempt came and went between two reads, and the operation runs. */
export function runs(one: Operation, failures = 0, fields: Fields = {}): Happening {
  return {
    words: `${nameOf(one)} runs${failures === 0 ? '' : `, and has failed ${times(failures)}`}${said(fields)}`,
    perform: ({ story }) => story.changes(one, 'running', { failures_count: failures, ...fields }),
  };
}

export function givesUp(one: Operation, fields: Fields = {}): Happening {
  return {
    words: `${nameOf(one)} is given up${said(fields)}`,
    perform: ({ story }) => story.changes(one, 'error', fields),
  };
}

export function finishes(one: Operation, fields: Fields = {}): Happening {
  return {
    words: `${nameOf(one)} finishes${said(fields)}`,
    perform: ({ story }) => story.changes(one, 'finished', fields),
  };
}

export function ends(one: Operation, status: 'cancelled' | 'skipped', fields: Fields = {}): Happening {
  return {
    words: `${nameOf(one)} is ${status}${said(fields)}`,
    perform: ({ story }) => story.changes(one, status, fields),
  };
}

export function stalls(one: Operation, openMinutes = 5): Happening {
  return {
    words: `${nameOf(one)} has been open for ${openMinutes} min, too long`,
    perform: ({ story }) => story.stalls(one, openMinutes),
  };
}

export function isWatchedNoLonger(
  one: Operation,
  reason: 'vanished' | 'not_retried' | 'project_gone',
): Happening {
  return {
    words: `${nameOf(one)} is watched no longer: ${reason}`,
    perform: ({ story }) => story.isWatchedNoLonger(one, reason),
  };
}

export function accountIsWatched(projects = 25, failing = 3, account = 'main'): Happening {
  return {
    words: `the account ${account} is watched: ${projects} projects, ${failing} operations fail`,
    perform: ({ story }) => story.isWatched(account, { project_count: projects, failing_count: failing }),
  };
}

export function usageCrosses(percent: number, fields: object = {}): Happening {
  const of = 'project_id' in fields ? 'all projects together have' : 'shop has';
  return {
    words: `${of} used ${percent} % of the compute time`,
    perform: ({ story }) =>
      story.crosses({ used: percent * 3_600, percent, threshold_percent: percent, ...fields }),
  };
}

export function accountDegrades(reason = 'key_rejected', account = 'main'): Happening {
  return {
    words: `the account ${account} cannot be read: ${reason}`,
    perform: ({ story }) => story.degrades(account, reason),
  };
}

export function accountRecovers(reason = 'key_rejected', account = 'main'): Happening {
  return {
    words: `the account ${account} can be read again`,
    perform: ({ story }) => story.recovers(account, reason),
  };
}

export function moves(project: string, to: string): Happening {
  return {
    words: `${project} moves from the account main to ${to}`,
    perform: ({ story }) => story.moves(project, 'main', to),
  };
}

/** An agent has asked to delete a project, and a person decides. */
export function approval(state: 'wanted' | 'denied', by?: string): Happening {
  const words = state === 'wanted' ? 'an agent asks to delete shop' : `${by} denies that`;
  return { words, perform: ({ story }) => story.approval(state, by) };
}

/** An event comes a second time, as it was. */
export function repeats(number: number, envelope: object = {}, words = 'comes again'): Happening {
  return { words: `event-${number} ${words}`, perform: ({ story }) => story.repeats(number, envelope) };
}

/** Anything else. */
export function happens(words: string, perform: Happening['perform']): Happening {
  return { words, perform };
}

const MOOD_WORDS: { readonly [Kind in Mood['kind']]: (mood: Extract<Mood, { kind: Kind }>) => string } = {
  works: () => 'works',
  fails: ({ status, retryAfter, times: count }) =>
    `answers ${status}${retryAfter === undefined ? '' : ` with Retry-After ${retryAfter}`}${count === undefined ? '' : ` ${times(count)}`}`,
  slow: ({ seconds }) => `answers after ${seconds} s`,
  hangs: () => 'does not answer',
  'loses answers': ({ times: count }) => `takes a message and loses the answer ${times(count)}`,
  refuses: ({ naming, onlyBlocks }) => `refuses ${onlyBlocks ? 'the blocks of ' : ''}what names ${naming}`,
};

export function channel(name: ChannelName, mood: Mood): Happening {
  const say = MOOD_WORDS[mood.kind] as (mood: Mood) => string;
  return { words: `${name} ${say(mood)}`, perform: ({ channels }) => channels.is(name, mood) };
}

export function mutes(words: string, asked: MuteAsked): Happening {
  return {
    words: `marta mutes ${words} for ${asked.minutes} min`,
    perform: ({ people }) => people().mute(asked),
  };
}

export function lifts(number: number): Happening {
  return { words: `marta lifts mute ${number}`, perform: ({ people }) => people().lift(number) };
}

type Place = Pick<Operation, 'project' | 'action'>;

export function acknowledges({ project, action }: Place, reason?: string): Happening {
  return {
    words: `marta acknowledges ${action} in ${project}${reason === undefined ? '' : ` (${reason})`}`,
    perform: ({ people }) => people().acknowledge({ project, action }, reason),
  };
}

export function withdraws({ project, action }: Place): Happening {
  return {
    words: `marta withdraws the acknowledgement of ${action} in ${project}`,
    perform: ({ people }) => people().withdraw({ project, action }),
  };
}

export function dies(words: string, death: Death): Happening {
  return { words: `the notifier's process ends ${words}`, perform: (world) => world.dieAt(death) };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function said(fields: Fields): string {
  const words = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return words.length === 0 ? '' : ` {${words.join(', ')}}`;
}
