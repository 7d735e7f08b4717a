/** What defines one kind of channel. The configuration, the deployment, the console, the documentation and the notifier follow from it. */

import type * as z from 'zod';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Message } from '../deciding/message-plan.ts';
import type { AlertLinks } from '../wording/wording.ts';
import type { Sender } from './channel.ts';

export interface ChannelKind<
  Name extends string = string,
  Settings extends z.core.$ZodLooseShape = z.core.$ZodLooseShape,
  Environment extends z.core.$ZodLooseShape = z.core.$ZodLooseShape,
> {
  /** Stands in routes, keys of the table and log lines. */
  readonly name: Name;
  /** The keys under `alerts` in the configuration of a bridge. */
  readonly settings: Settings;
  /** The variables of the notifier's environment. */
  readonly environment: Environment;
  /** Absent: the channel needs no secret, and is always set up. */
  readonly secret?: ChannelSecret<keyof Settings & string, keyof Environment & string>;
  /** The variable that gets the ARN of the topic from which the configured addresses get mails. Absent: the channel sends no mail. */
  readonly topicVariable?: keyof Environment & string;
  /** Undefined when the environment sets no such channel up. */
  create(environment: z.output<z.ZodObject<Environment>>, parts: ChannelParts): Sender | undefined;
  readonly guide: ChannelGuide;
}

/** A secret that the notifier reads. Deploying grants exactly that. */
interface ChannelSecret<Setting extends string = string, Variable extends string = string> {
  /** The setting that holds its complete ARN. Without it the channel is not set up. */
  readonly setting: Setting;
  /** The variable of the notifier's environment that gets the ARN. */
  readonly variable: Variable;
  /** The variable from which `npm start` takes the secret itself. */
  readonly localVariable: string;
  /** Why this text cannot be the secret, as the rest of a sentence that begins with the variable; undefined when it can. */
  faultOf(text: string): string | undefined;
}

/** The outside world as a channel may use it. */
interface ChannelParts {
  readonly secretOf: (secretId: string) => { current(): Promise<Secret> };
  /** Publishes to a topic of SNS. */
  readonly publisherOf: (topicArn: string) => (mail: Mail) => Promise<void>;
  readonly links: AlertLinks;
}

export interface Mail {
  /** ASCII, one line, below 100 characters. */
  readonly subject: string;
  readonly body: string;
}

/** What the documentation says of the channel. */
interface ChannelGuide {
  /** Its pace, like `Slack five a minute`. */
  readonly pace: string;
  /** How it is set up, and what `npm start` does with it: a paragraph of Markdown. */
  readonly about: string;
  /** The bounds of one message. */
  readonly bounds: readonly ChannelBound[];
  readonly sampleOf: (message: Message, links: AlertLinks) => ChannelSample;
}

interface ChannelBound {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly reason: string;
}

/** A message as the channel shows it. */
interface ChannelSample {
  /** Like `on Slack`. */
  readonly place: string;
  /** End of the name of a file with the sample. */
  readonly suffix: string;
  readonly text: string;
  /** How the page of the documentation shows the sample. Absent: it links to a file with the text. */
  readonly inPage?: { readonly introduction: string; readonly text: string };
}

/** Gives a definition its exact type, so that the configuration knows its settings and the notifier its variables. */
export function defineChannelKind<
  const Name extends string,
  Settings extends z.core.$ZodLooseShape,
  Environment extends z.core.$ZodLooseShape,
>(kind: ChannelKind<Name, Settings, Environment>): ChannelKind<Name, Settings, Environment> {
  return kind;
}
