/**
 * Defines what every channel is to the rest of the notifier, a name, its limits and one call that sends a message,
 * and what a kind of channel defines. A message has a bounded time for all its requests.
 */

import type * as z from 'zod';
import type { Page } from '../../../shared/alerts/channel-apps.ts';
import type { Operations } from '../../../shared/alerts/incidents.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { readBounded } from '../../../shared/runtime/foreign-text.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Thread } from '../deciding/incident.ts';
import type { Care } from '../deciding/incident-record.ts';
import type { Message, Notice, Severity } from '../deciding/notice.ts';
import type { MessageLimits } from '../deciding/waking.ts';
import type { AlertLinks } from '../deciding/wording.ts';

export type SendResult =
  /**
   * `thread` says where the channel now keeps the message of an incident. `ring` is the message by which people were
   * notified, or `joined` when the message joined the one that rang last and notified nobody.
   */
  | {
      readonly kind: 'sent';
      readonly thread?: Thread | undefined;
      readonly ring?: Ring | 'joined' | undefined;
      /** These pages are open now, on a channel that keeps them open until their trouble has ended. */
      readonly pages?: readonly Page[] | undefined;
    }
  /** The message itself is at fault, so sending it again does not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
      /** When true, no answer came, so the message may have been shown all the same. */
      readonly isUncertain?: boolean;
    };

/** Names a message of the channel that has notified people, so that others can join it. */
export interface Ring {
  readonly channel: string;
  readonly ts: string;
}

/** The message that rang last, with the critical notices that have joined it silently since. */
export interface LastRing extends Ring {
  readonly silent: readonly { readonly line: string }[];
  /** Further ones have joined, which `silent` has no room for. */
  readonly more_count: number;
  /** People were notified just now, so what comes now joins the message. */
  readonly isFresh: boolean;
}

/** The keys are the names of incidents. The values say how their operations stood when they were last reported. */
type OperationsByIncident = ReadonlyMap<string, Operations>;

interface Settled {
  readonly key: string;
  readonly settlement: 'resolve' | 'acknowledge';
}

/** A message about many incidents, with how each of its alerts stands and who takes care of it. */
export interface ShownList {
  readonly message: Message;
  readonly careOf: (notice: Notice) => Care;
  /** When true, an edit of the list tells people enough. Otherwise they get a message as well. */
  readonly isEnough: boolean;
}

/** What a channel remembers when it sends a message. */
export interface Before {
  /** It belongs to the message's incident, when the message is about a single one. */
  readonly thread?: Thread | undefined;
  readonly operations?: OperationsByIncident | undefined;
  /** A message that rings names what has joined this one silently. */
  readonly last?: LastRing | undefined;
  readonly pages?: readonly Page[] | undefined;
  /** `thread` is such a list, and so it looks with this message in it. */
  readonly list?: ShownList | undefined;
}

/** A sender sends messages at its own pace. */
export interface Sender {
  readonly pace: MessageLimits;
  /**
   * When false, the alerts of other incidents are not gathered after a message, because they interrupt no person who is
   * at the console already. Without it they are.
   */
  readonly isGathered?: false;
  /** The channel reports nothing less severe unless the policy says otherwise. Without it the channel reports everything. */
  readonly severityMin?: Severity;
  /** When true, the channel is notified when a person acknowledges an incident that it has reported. */
  readonly hearsOfAcknowledgements?: true;
  /** Returns whether the channel gets such a notice at all. Without it the channel gets every one. */
  takes?(notice: Pick<Notice, 'kind'>): boolean;
  /** Sends one message. It never throws, and bounds its own time. */
  send(message: Message, before?: Before): Promise<SendResult>;
  /** Notifies people of what has joined the message silently. A channel without it joins no messages. */
  readonly ring?: (last: LastRing) => Promise<SendResult>;
  /**
   * Renders the message of an incident anew, with what `thread.care` says, or a list, and sends no new one. It never
   * throws, and bounds its own time. A channel without it keeps no such messages.
   */
  readonly edit?: (thread: Thread, operations: Operations, list?: ShownList) => Promise<SendResult>;
  /** Resolves pages, or acknowledges them. A channel without it keeps none. */
  readonly settle?: (changes: readonly Settled[]) => Promise<SendResult>;
}

export interface Channel extends Sender {
  /** The name of the channel's kind stands in routes, keys of the table and log lines. */
  readonly name: string;
}

export interface ChannelKind<
  Name extends string = string,
  Settings extends z.core.$ZodLooseShape = z.core.$ZodLooseShape,
  Environment extends z.core.$ZodLooseShape = z.core.$ZodLooseShape,
> {
  /** The name stands in routes, keys of the table and log lines. */
  readonly name: Name;
  /** The configuration of a bridge has these keys under `alerts`. */
  readonly settings: Settings;
  /** The notifier's environment has these variables. */
  readonly environment: Environment;
  /** A channel without it needs no secret, and is always set up. */
  readonly secret?: ChannelSecret<keyof Settings & string, keyof Environment & string>;
  /**
   * This variable gets the ARN of the topic that sends mails to the configured addresses. A channel without it sends
   * no mail.
   */
  readonly topicVariable?: keyof Environment & string;
  /** Returns undefined when the environment sets no such channel up. */
  create(environment: z.output<z.ZodObject<Environment>>, parts: ChannelParts): Sender | undefined;
  readonly guide: ChannelGuide;
}

/** The notifier reads this secret, and deploying grants exactly that. */
interface ChannelSecret<Setting extends string = string, Variable extends string = string> {
  /** This setting holds the secret's complete ARN. Without it the channel is not set up. */
  readonly setting: Setting;
  /** This variable of the notifier's environment gets the ARN. */
  readonly variable: Variable;
  /** `npm start` takes the secret itself from this variable. */
  readonly localVariable: string;
  /**
   * Returns why this text cannot be the secret, as the rest of a sentence that begins with the variable, and
   * undefined when it can.
   */
  faultOf(text: string): string | undefined;
}

/** A channel reaches the outside world only through these. */
export interface ChannelParts {
  readonly secretOf: (secretId: string) => { current(): Promise<Secret> };
  /** Returns a function that publishes to a topic of SNS. */
  readonly publisherOf: (topicArn: string) => (mail: Mail) => Promise<void>;
  readonly fetch: typeof fetch;
  readonly links: AlertLinks;
  readonly clock: Clock;
}

export interface Mail {
  /** The subject is one line of fewer than 100 ASCII characters. */
  readonly subject: string;
  readonly body: string;
}

/** The documentation shows this of the channel. */
interface ChannelGuide {
  /** One message of the channel has these bounds. */
  readonly bounds: readonly ChannelBound[];
  /** Returns undefined when the channel does not get such a message. */
  readonly sampleOf: (message: Message, links: AlertLinks) => ChannelSample | undefined;
}

/** Its row in docs/limits.md has this name. */
interface ChannelBound {
  readonly name: string;
  readonly value: number;
}

/** A sample shows a message as the channel shows it. */
interface ChannelSample {
  /** The place is a phrase such as `on Slack`. */
  readonly place: string;
  /** The name of a file with the sample ends with this. */
  readonly suffix: string;
  readonly text: string;
}

/** Gives a definition its exact type, so that the configuration knows its settings and the notifier its variables. */
export function defineChannelKind<
  const Name extends string,
  Settings extends z.core.$ZodLooseShape,
  Environment extends z.core.$ZodLooseShape,
>(kind: ChannelKind<Name, Settings, Environment>): ChannelKind<Name, Settings, Environment> {
  return kind;
}

/**
 * Reading stops after this many bytes. A webhook answers with a word, the Web API of Slack repeats the message, and a
 * proxy may send a long page.
 */
const ANSWER_BYTES_MAX = 100_000;

/** Returns the answer's body, as far as it is read. */
export async function readStart(response: Response): Promise<string> {
  return (await readBounded(response.body, ANSWER_BYTES_MAX)).toString();
}

export function failure(response: Response, reason: string): Extract<SendResult, { kind: 'failed' }> {
  return { kind: 'failed', reason, retryAfterMs: retryAfterMs(response.headers.get('retry-after')) };
}

/** Returns the pause that the channel asks for in whole seconds, in ms. Any other value is ignored. */
function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? 'none');
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}

/**
 * All requests of one message together have this time. Answers after 12 s were seen, and a message without an answer
 * is sent again.
 */
const TIMEOUT_MS = 25_000;

const CAUSES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'the name server does not answer',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection cut off',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
};

/**
 * Returns the code of what caused the error, with words where people do not know it, and otherwise the name of the error.
 * The text of a fetch error can hold the URL, and the URL can be the secret.
 */
export function reasonOf(error: unknown): string {
  const { name, cause } = toError(error);
  const { code }: { readonly code?: unknown } = Object(cause);
  if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return name;
  const words = CAUSES[code];
  return words === undefined ? code : `${words}, ${code}`;
}

/** Runs `send`, whose requests must end with the signal. It never throws: an error means that no answer came. */
export async function sendInTime(
  clock: Clock,
  send: (signal: AbortSignal) => Promise<SendResult>,
): Promise<SendResult> {
  const patience = new AbortController();
  const ended = new AbortController();
  clock.sleep(TIMEOUT_MS, ended.signal).then(
    () => patience.abort(new DOMException('No answer came in time', 'TimeoutError')),
    () => {},
  );
  try {
    return await send(patience.signal);
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error), isUncertain: true };
  } finally {
    ended.abort();
  }
}
