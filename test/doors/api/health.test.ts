/** What the health of an account says of a channel whose item in the table cannot be read. */

import { expect, test } from 'vitest';
import { alertChannelKey } from '../../../shared/store/keys.ts';
import { NOON_MS } from '../../builders.ts';
import { openApi } from './api-door.ts';

const HEALTH = '/bridge/v1/health';

test('an alert channel does not count as deaf by a time that cannot be read', async () => {
  const { ask, api } = await openApi(() => Response.json({}));
  const reasons = async (waiting_since_ms: string | number): Promise<string> => {
    await api.memory.update({ key: alertChannelKey('slack'), set: { waiting_since_ms } });
    return (await ask('GET', HEALTH)).body.reasons.join();
  };

  expect(await reasons(NOON_MS - 12 * 60_000)).toContain('slack has taken nothing for 12 min');
  expect(await reasons('of a newer version')).not.toContain('slack');
});
