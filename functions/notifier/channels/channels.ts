/**
 * Lists the kinds of channels. A new kind is one file and one entry here, and everything else follows from the list.
 */

import type { ChannelKind } from './channel.ts';
import { email } from './email.ts';
import { pagerduty } from './pagerduty.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

export const CHANNEL_KINDS = [slack, email, pagerduty, webhook] as const;

type Kind = (typeof CHANNEL_KINDS)[number];

export type ChannelName = Kind['name'];

export const CHANNEL_NAMES = CHANNEL_KINDS.map(({ name }) => name) as [ChannelName, ...ChannelName[]];

/** The configuration of a bridge takes these settings of all kinds under `alerts`. */
export const channelSettings = merged(CHANNEL_KINDS.map(({ settings }) => settings));

/** The notifier's environment has these variables of all kinds. */
export const channelEnvironment = merged(CHANNEL_KINDS.map(({ environment }) => environment));

/**
 * Returns the ARN of the channel's secret in these settings, and undefined when the channel needs none, or is not set
 * up.
 */
export function secretArnOf({ secret }: Pick<ChannelKind, 'secret'>, settings: object): string | undefined {
  const arn = secret && (settings as Readonly<Record<string, unknown>>)[secret.setting];
  return typeof arn === 'string' ? arn : undefined;
}

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

function merged<Shape extends object>(shapes: readonly Shape[]): Intersection<Shape> {
  return Object.assign({}, ...shapes);
}
