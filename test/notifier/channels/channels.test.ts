/**
 * Tests the list of channels: what follows from it must be unambiguous, and no channel may be there that nothing set
 * up.
 */

import { describe, expect, test } from 'vitest';
import {
  CHANNEL_KINDS,
  CHANNEL_NAMES,
  channelEnvironment,
  channelSettings,
  secretArnOf,
} from '../../../functions/notifier/channels/channels.ts';
import { notifierEnvironment } from '../../../functions/notifier/environment.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';

const parts = {
  secretOf: () => ({ current: async () => createSecret('s') }),
  publisherOf: () => async () => {},
  fetch,
  links: {},
  clock: systemClock,
};

describe('the list of channels', () => {
  test('names each channel once, and no two of them share a setting or a variable', () => {
    const settings = CHANNEL_KINDS.flatMap((kind) => Object.keys(kind.settings));
    const variables = CHANNEL_KINDS.flatMap((kind) => Object.keys(kind.environment));

    expect(new Set(CHANNEL_NAMES).size).toBe(CHANNEL_KINDS.length);
    expect(Object.keys(channelSettings)).toEqual(settings);
    expect(Object.keys(channelEnvironment)).toEqual(variables);
  });

  test('keeps the names that deployed items, routes and log lines have', () => {
    expect(CHANNEL_NAMES).toEqual(expect.arrayContaining(['slack', 'email']));
  });

  test.each(CHANNEL_KINDS)('$name is there only when the environment sets it up', (kind) => {
    const variable = kind.secret?.variable ?? kind.topicVariable ?? '';
    const without = notifierEnvironment.parse({ TABLE_NAME: 'table' });
    const withIt = notifierEnvironment.parse({ TABLE_NAME: 'table', [variable]: 'an-arn' });

    expect(kind.create(without, parts)).toBeUndefined();
    expect(kind.create(withIt, parts)).toBeDefined();
  });

  test('finds the ARN of the secret of a channel that is set up, and of no other', () => {
    const [slack, email] = CHANNEL_KINDS;

    expect(secretArnOf(slack, { slack_webhook_secret_arn: 'arn' })).toBe('arn');
    expect(secretArnOf(slack, { emails: [] })).toBeUndefined();
    expect(secretArnOf(email, { emails: ['a@example.com'] })).toBeUndefined();
  });
});
