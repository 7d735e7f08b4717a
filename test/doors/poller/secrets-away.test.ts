import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import type { Fault } from '../scripted-aws.ts';
import { type PollerOnAws, startPoller } from './poller-on-aws.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The secret cannot be read for now. */
const OUTAGES: Readonly<Record<string, Fault>> = {
  'never answers': { kind: 'hang' },
  'fails in itself': { kind: 'refuse', code: 'InternalServiceError', status: 500 },
  throttles: { kind: 'refuse', code: 'ThrottlingException' },
  'denies the access': { kind: 'refuse', code: 'AccessDeniedException' },
  'cannot decrypt': { kind: 'refuse', code: 'DecryptionFailure' },
};

/** The secret is there no more. */
const ENDS: Readonly<Record<string, Fault>> = {
  deleted: { kind: 'refuse', code: 'ResourceNotFoundException' },
  'marked for deletion': { kind: 'refuse', code: 'InvalidRequestException' },
  emptied: { kind: 'answer', answer: () => ({ SecretString: ' ' }) },
};

const isOfSecret = ({ action }: { readonly action: string }) => action === 'secretsmanager:GetSecretValue';

/** Runs a short invocation, and returns how many requests reached the upstream. */
async function poll(poller: PollerOnAws, handler: ReturnType<PollerOnAws['coldStart']>): Promise<number> {
  const before = poller.requests.get('main') ?? 0;
  await poller.invoke(handler, 25_000);
  return (poller.requests.get('main') ?? 0) - before;
}

function failuresMeasured(poller: PollerOnAws): number {
  return poller.lines.reduce((sum, { SecretsUnreadable = 0 }) => sum + Number(SecretsUnreadable), 0);
}

describe('while Secrets Manager', () => {
  test.each(Object.entries(OUTAGES).map(([name, fault], index) => ({ name, fault, seed: 50 + index })))(
    '$name, the poller goes on with the key that it read last, for a day and no longer, and each minute is alarmed on',
    async ({ fault, seed }) => {
      const random = seededRandom(seed);
      const poller = await startPoller({ seed });
      const handler = poller.coldStart();
      expect(await poll(poller, handler)).toBeGreaterThan(3);
      const readAtMs = poller.time.now();
      poller.script = (call) => (isOfSecret(call) ? fault : undefined);

      const hours = [0.1, ...Array.from({ length: 1 }, () => random.next() * 23), 23.9].toSorted(
        (a, b) => a - b,
      );
      for (const hour of hours) {
        await poller.time.pass(Math.max(0, readAtMs + hour * HOUR_MS - poller.time.now()));
        const before = failuresMeasured(poller);
        expect(await poll(poller, handler)).toBeGreaterThan(3);
        expect(failuresMeasured(poller)).toBeGreaterThan(before);
      }
      await poller.time.pass(readAtMs + 24 * HOUR_MS - poller.time.now());
      expect(await poll(poller, handler)).toBe(0);
      const unreadable = poller.lines.filter(({ message }) => message === 'key.unreadable');
      expect(unreadable).toHaveLength(1);
      expect(unreadable[0]?.['advice']).not.toContain('Put the key');

      poller.script = () => undefined;
      // What has failed is tried again within this time.
      await poller.time.pass(5 * MINUTE_MS);
      expect(await poll(poller, handler)).toBeGreaterThan(3);
      expect(JSON.stringify(poller.lines)).not.toContain('canary');
    },
  );

  test.each(Object.entries(ENDS))(
    'says that the secret is %s, nothing is sent with its key any more',
    async (_, fault) => {
      const poller = await startPoller({ seed: 60 });
      const handler = poller.coldStart();
      expect(await poll(poller, handler)).toBeGreaterThan(3);
      poller.script = (call) => (isOfSecret(call) ? fault : undefined);
      await poller.time.pass(5 * MINUTE_MS);

      expect(await poll(poller, handler)).toBe(0);
      const [unreadable] = poller.lines.filter(({ message }) => message === 'key.unreadable');
      expect(unreadable?.['advice']).toContain('Put the key');

      // What was read before the end is not used again when Secrets Manager is away later.
      poller.script = (call) =>
        isOfSecret(call) ? { kind: 'refuse', code: 'InternalServiceError', status: 500 } : undefined;
      expect(await poll(poller, handler)).toBe(0);
    },
  );

  test('does not answer, a key that the upstream refuses is not sent again and again', async () => {
    const poller = await startPoller({ seed: 61 });
    const handler = poller.coldStart();
    await poll(poller, handler);
    poller.script = (call) =>
      isOfSecret(call) ? { kind: 'refuse', code: 'InternalServiceError', status: 500 } : undefined;
    poller.upstream.revokeKey('poller-door-canary-key');

    expect(await poll(poller, handler)).toBeLessThan(20);
    expect(await poll(poller, handler)).toBe(0);
  });
});
