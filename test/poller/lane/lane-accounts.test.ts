import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settingsOfLane } from '../../../functions/poller/lane/run-lane.ts';
import type { ServedAccount } from '../../../shared/accounts/account-directory.ts';
import { type PollAccountSettings, pollAccountRequest } from '../../../shared/config/poller-config.ts';

type Served = ServedAccount<PollAccountSettings>;

function aServed(account_id: string, changes: Partial<Served> = {}): Served {
  const settings = pollAccountRequest.parse({
    account_id,
    upstream_base_url: 'https://api.example.com/api/v2',
    key_secret_id: 'a-secret',
  });
  return { settings, state: 'active', generation: 1, origin: 'added', lane: undefined, ...changes };
}

const idsOf = (settings: readonly PollAccountSettings[]) => settings.map(({ account_id }) => account_id);

describe('a lane', () => {
  test('polls neither a paused account nor one that the deployment does not allow', () => {
    const served = [
      aServed('a'),
      aServed('b', { state: 'paused' }),
      aServed('c', { state: 'refused' }),
      aServed('d', { origin: 'configured', state: 'paused' }),
    ];

    expect(idsOf(settingsOfLane({ lane: 0, lanes: 1, shared_lanes: 1 }, served))).toEqual(['a']);
  });

  test('polls the configured accounts of its schedule, which the deployment has divided', () => {
    const served = [aServed('a', { origin: 'configured' }), aServed('b', { origin: 'configured' })];

    expect(idsOf(settingsOfLane({ lane: 3, lanes: 5, shared_lanes: 5 }, served))).toEqual(['a', 'b']);
  });

  test('of its own polls only the accounts that are pinned to it', () => {
    const served = ['a', 'b', 'c', 'd'].map((id) => aServed(id, id === 'c' ? { lane: 2 } : {}));

    expect(idsOf(settingsOfLane({ lane: 2, lanes: 3, shared_lanes: 2 }, served))).toEqual(['c']);
  });
});

test('every added account is polled in exactly one lane, whatever the number of lanes and the pins', () => {
  const pins = fc.array(fc.option(fc.integer({ min: 0, max: 12 }), { nil: undefined }), { maxLength: 20 });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 0, max: 3 }),
      pins,
      (shared, own, lanes) => {
        const served = lanes.map((lane, place) => aServed(`account-${place}`, { lane }));
        const polled = Array.from({ length: shared + own }, (_, lane) =>
          settingsOfLane({ lane, lanes: shared + own, shared_lanes: shared }, served),
        );

        expect(idsOf(polled.flat()).toSorted()).toEqual(
          served.map(({ settings }) => settings.account_id).toSorted(),
        );
      },
    ),
  );
});
