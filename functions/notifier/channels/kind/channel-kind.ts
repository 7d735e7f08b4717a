/**
 * Defines one kind of channel. The configuration, the deployment, the console, the documentation and the notifier
 * follow from it.
 */

import type * as z from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Secret } from '../../../../shared/runtime/secret.ts';
import type { Message } from '../../deciding/messages/message-plan.ts';
import type { AlertLinks } from '../../wording/wording.ts';
import type { Sender } from './channel.ts';

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
