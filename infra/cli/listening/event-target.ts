/** Deals with the events of `listen`: shows each in the terminal or as JSON, and forwards it. */

import { eventLine, paint } from '../../local/terminal/event-line.ts';
import { parseInteger, UsageError } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { envelopeOf, type FeedEvent } from './event-envelope.ts';
import { forwardEvent } from './forward-event.ts';
import { signingSecret } from './signing-secret.ts';

export interface TargetValues {
  readonly forward?: string;
  readonly attempts: string;
  readonly json?: true;
}

export interface EventTarget {
  /** Resolves to false when the signal aborted before the event was dealt with. */
  readonly handle: (event: FeedEvent) => Promise<boolean>;
  readonly givenUpCount: () => number;
}

/** Shows each event, and forwards it if a URL is given. Throws `UsageError` when the URL or the secret cannot be used. */
export function createEventTarget(values: TargetValues, surroundings: Surroundings): EventTarget {
  const { print } = surroundings;
  let givenUpCount = 0;
  const show = (event: FeedEvent) => print(lineOf(event, values, surroundings));
  if (values.forward === undefined)
    return {
      handle: async (event) => {
        show(event);
        return true;
      },
      givenUpCount: () => 0,
    };
  const forward = forwarderTo(values.forward, values, surroundings);
  return {
    async handle(event) {
      show(event);
      const outcome = await forward(event);
      if (outcome === 'given_up') givenUpCount += 1;
      return outcome !== 'stopped';
    },
    givenUpCount: () => givenUpCount,
  };
}

function lineOf(event: FeedEvent, { json }: TargetValues, { isColoured }: Surroundings): string {
  const envelope = envelopeOf(event);
  return json ? JSON.stringify(envelope) : eventLine(envelope, { isColoured });
}

function forwarderTo(url: string, { attempts }: TargetValues, surroundings: Surroundings) {
  const { environment, clock, signal, note, isColoured } = surroundings;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new UsageError(`--forward is "${url}"; it takes a URL such as http://127.0.0.1:3000/hook.`);
  const attemptsMax = parseInteger('attempts', attempts, { min: 1, max: 1_000 });
  const secret = signingSecret(environment);
  let isAway = false;
  return (event: FeedEvent) =>
    forwardEvent(envelopeOf(event), {
      url,
      secret,
      attemptsMax,
      clock,
      signal,
      onAttempt(attempt, next) {
        const answer =
          attempt.kind === 'answered'
            ? `${attempt.status} in ${Math.round(attempt.durationMs)} ms`
            : `no answer (${attempt.reason})`;
        const colour = next.kind === 'accepted' ? 'green' : 'red';
        // A server that is away would fill the screen with the same line.
        if (next.kind !== 'repeat' || !isAway)
          note(`  ${paint(colour, `-> ${answer}`, { isColoured })}${sequelOf(next.kind)}  ${event.id}`);
        isAway = next.kind === 'repeat' && attempt.kind === 'unanswered';
      },
    });
}

function sequelOf(step: 'accepted' | 'given_up' | 'repeat'): string {
  if (step === 'accepted') return '';
  return step === 'repeat' ? ', it is sent again' : ', it is not sent again';
}
