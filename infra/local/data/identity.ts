/** Checks which upstream the state of a data folder belongs to. `bridge.json` says so. */

import { z } from 'zod';
import { UsageError } from '../../process/option-values.ts';
import { keptText } from './kept-file.ts';

const identitySchema = z.object({
  upstream: z.string(),
  speed: z.number().min(1),
  /** The clocks of an accelerated or resumed run agree with real time at this instant, in ms since the epoch. */
  originMs: z.int().nonnegative(),
});

export type Identity = z.output<typeof identitySchema>;

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
    `The folder of --data belongs to another run (${known.upstream}, speed ${known.speed}); choose another folder, or the same options.`,
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
