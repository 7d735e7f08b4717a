/** Draws what HTTP and the networks below it do to an answer. */

import type { WideFault } from '../faults.ts';
import type { WideWorld } from '../world.ts';

export type HttpFault =
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly text: string;
    }
  | { readonly kind: 'reset' | 'hangs' | 'cut_off' | 'not_json' };

const DAY_SECONDS = 86_400;

export function drawHttpFault(world: WideWorld): HttpFault | undefined {
  for (const [kind, faultOf] of FAULTS) if (world.strikes(kind)) return faultOf(world.random.next());
  return undefined;
}

type FaultOf = (dice: number) => HttpFault;

/** The Console and scripts spend the same limit of the account. */
const usedUp: FaultOf = (dice) => {
  const headers: Record<string, string> =
    dice < 0.7 ? { 'retry-after': String(1 + Math.floor(dice * 6)) } : {};
  return { kind: 'refused', status: 429, headers, text: '{"message":"too many requests","code":""}' };
};

const FAULTS: readonly (readonly [WideFault, FaultOf])[] = [
  ['http_account_limit_used_up', usedUp],
  [
    'http_retry_after_a_day',
    () => ({ kind: 'refused', status: 429, headers: { 'retry-after': String(DAY_SECONDS) }, text: '{}' }),
  ],
  [
    'http_server_error',
    (dice) => ({
      kind: 'refused',
      status: dice < 0.5 ? 500 : dice < 0.8 ? 503 : 502,
      headers: {},
      text: dice < 0.8 ? '{"message":"try again"}' : '<html>Bad gateway</html>',
    }),
  ],
  ['http_connection_reset', () => ({ kind: 'reset' })],
  ['http_connection_hangs', () => ({ kind: 'hangs' })],
  ['http_answer_cut_off', () => ({ kind: 'cut_off' })],
  ['http_answer_not_json', () => ({ kind: 'not_json' })],
];

/** Streams half of the body and then breaks the connection. */
export async function* cutOff(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text.slice(0, Math.floor(text.length / 2)));
  throw new TypeError('terminated');
}
