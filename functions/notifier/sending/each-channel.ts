/** Works on all channels at once, each on its own. */

import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

/** Channels work concurrently; one channel's outage or latency does not affect the others. A task that throws is logged. */
export async function onEachChannel<Channel extends { readonly name: string }>(
  { channels, telemetry }: { readonly channels: readonly Channel[]; readonly telemetry: Telemetry },
  task: (channel: Channel) => Promise<void>,
): Promise<void> {
  await Promise.all(
    channels.map(async (channel) => {
      try {
        await task(channel);
      } catch (error) {
        const { name } = toError(error);
        telemetry.log('error', 'alert.channel_failed', { channel: channel.name, reason: name });
        telemetry.measure('AlertsFailed', 1);
      }
    }),
  );
}
