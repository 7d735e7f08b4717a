import { describe, expect, onTestFinished, test } from 'vitest';
import { envelopeOf } from '../../../infra/cli/listening/event-envelope.ts';
import {
  type Attempt,
  decideNextStep,
  type Forwarding,
  forwardEvent,
} from '../../../infra/cli/listening/forward-event.ts';
import { parseBridgeEvent } from '../../../infra/packages/events/parse-bridge-event.ts';
import { operationStateChanged } from '../../../shared/events/catalog.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { startHookServer } from '../../crash/listen/hook-server.ts';

const SECRET = `whsec_${Buffer.from('a key of exactly 24 byte').toString('base64')}`;

const event = envelopeOf({
  id: operationStateChanged.example.id,
  detail_type: operationStateChanged.detailType,
  source: 'operations-bridge',
  time: '2026-01-16T21:02:09.412Z',
  detail: operationStateChanged.example,
});

const answered = (status: number): Attempt => ({ kind: 'answered', status, durationMs: 1 });
const away: Attempt = { kind: 'unanswered', reason: 'ECONNREFUSED' };

describe('what follows an attempt', () => {
  const stepAfter = (attempt: Attempt, attempts: number, refusals: number) =>
    decideNextStep(attempt, { attempts, refusals, attemptsMax: 3 });

  test.each([200, 202, 204, 299])('an answer %d is an acceptance', (status) => {
    expect(stepAfter(answered(status), 1, 0)).toEqual({ kind: 'accepted' });
  });

  test.each([301, 400, 404, 500])('an answer %d is repeated until the attempts are used up', (status) => {
    expect(stepAfter(answered(status), 1, 1)).toEqual({ kind: 'repeat', pauseMs: 500 });
    expect(stepAfter(answered(status), 3, 3)).toEqual({ kind: 'given_up' });
  });

  test.each([away, answered(429), answered(502), answered(503), answered(504)])(
    'a server that is not there is waited for without an end: %o',
    (attempt) => {
      expect(stepAfter(attempt, 1_000, 0)).toEqual({ kind: 'repeat', pauseMs: 10_000 });
    },
  );

  test('attempts without an answer do not count against an event', () => {
    expect(stepAfter(answered(500), 1_000, 1)).toMatchObject({ kind: 'repeat' });
  });

  test('the pauses grow to ten seconds', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((attempts) => stepAfter(away, attempts, 0));

    expect(pauses.map((step) => (step.kind === 'repeat' ? step.pauseMs : 0))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
    ]);
  });
});

describe('a forwarded event', () => {
  async function aForwarding(secret = SECRET) {
    const server = await startHookServer(SECRET);
    onTestFinished(() => server.leave());
    const steps: string[] = [];
    const forwarding: Forwarding = {
      url: server.url,
      secret,
      attemptsMax: 2,
      // The pauses are skipped, so that the test takes no longer than its requests.
      clock: { now: () => systemClock.now(), sleep: async () => {} },
      signal: new AbortController().signal,
      onAttempt: (attempt, next) =>
        void steps.push(`${attempt.kind === 'answered' ? attempt.status : attempt.reason} ${next.kind}`),
    };
    return { server, steps, forwarding };
  }

  test('is accepted by a server that checks the signature, and is what a rule would deliver', async () => {
    const { server, steps, forwarding } = await aForwarding();

    expect(await forwardEvent(event, forwarding)).toBe('accepted');
    expect(server).toMatchObject({ receivedIds: [event.id], faults: [] });
    expect(steps).toEqual(['204 accepted']);
    expect(parseBridgeEvent(event)?.detailType).toBe('Operation State Changed');
  });

  test('that is signed with another secret is refused by the server, repeated, and given up', async () => {
    const { server, steps, forwarding } = await aForwarding(`whsec_${'A'.repeat(32)}`);

    expect(await forwardEvent(event, forwarding)).toBe('given_up');
    expect(server.receivedIds).toEqual([]);
    expect(steps).toEqual(['400 repeat', '400 given_up']);
  });

  test('waits for a server that is away, and arrives when it is back', async () => {
    const { server, steps, forwarding } = await aForwarding();
    await server.leave();
    let pauses = 0;
    const comingBack = {
      now: () => systemClock.now(),
      async sleep() {
        pauses += 1;
        if (pauses === 5) await server.comeBack();
      },
    };

    expect(await forwardEvent(event, { ...forwarding, clock: comingBack })).toBe('accepted');
    expect(steps).toEqual([...Array.from({ length: 5 }, () => 'ECONNREFUSED repeat'), '204 accepted']);
  });

  test('is left when the signal aborts between two attempts', async () => {
    const { server, forwarding } = await aForwarding();
    await server.leave();
    const stop = new AbortController();
    const clock = { now: () => systemClock.now(), sleep: async () => stop.abort() };

    expect(await forwardEvent(event, { ...forwarding, clock, signal: stop.signal })).toBe('stopped');
  });
});
