/** Routes by the name of a project and by label, from the policy to the channel. */

import { describe, expect, test } from 'vitest';
import { routeOf } from '../../../../functions/notifier/deciding/policy.ts';
import { leastPatienceMsOf } from '../../../../functions/notifier/deciding/waking.ts';
import { alertPolicySchema } from '../../../../functions/notifier/environment.ts';
import { fitsPattern } from '../../../../shared/alerts/project-labels.ts';
import { aNotice, aNotifier, anEvent } from '../../channel-under-test.ts';

const onCall = { channels: ['slack'] };
const rest = { channels: ['email'] };

describe('a pattern of names', () => {
  test.each([
    ['prod-shop', 'prod-*', true],
    ['prod-', 'prod-*', true],
    ['preprod-shop', 'prod-*', false],
    ['shop-prod-eu', '*-prod-*', true],
    ['shop', 'shop', true],
    ['shops', 'shop', false],
    ['Shop', 'shop', false],
    ['aba', 'ab*ba', false],
    ['abba', 'ab*ba', true],
    ['a.c', 'a?c', false],
    ['anything', '*', true],
  ])('%s fits %s: %s', (name, pattern, expected) => {
    expect(fitsPattern(name, pattern)).toBe(expected);
  });
});

describe('a route', () => {
  const policy = alertPolicySchema.parse({
    labels: {
      production: { project_names: ['prod-*', '*-live'] },
      abroad: { account_ids: ['abroad'] },
    },
    routes: [
      { labels: ['production'], ...onCall },
      { labels: ['abroad'], project_names: ['shop'], ...onCall },
      rest,
    ],
  });
  const channelsOf = (fields: object) => routeOf(aNotice(fields), policy).channels;

  test('by label covers the projects that the label names', () => {
    expect(channelsOf({ project_name: 'prod-shop' })).toEqual(['slack']);
    expect(channelsOf({ project_name: 'shop-live' })).toEqual(['slack']);
    expect(channelsOf({ project_name: 'shop' })).toEqual(['email']);
  });

  test('with several lists covers what all of them fit', () => {
    expect(channelsOf({ account_id: 'abroad', project_name: 'shop' })).toEqual(['slack']);
    expect(channelsOf({ account_id: 'abroad', project_name: 'other' })).toEqual(['email']);
  });

  test('by name covers neither a project whose name is not known nor the account', () => {
    expect(channelsOf({})).toEqual(['email']);
    expect(channelsOf({ project_id: undefined })).toEqual(['email']);
  });

  test('may have a patience of its own, of which the shortest possible counts while the name is not known', () => {
    const patient = alertPolicySchema.parse({
      routes: [{ project_names: ['prod-*'], patience_seconds: 60 }, { patience_seconds: 600 }],
    });

    expect(leastPatienceMsOf(patient, { account_id: 'main', project_id: 'a' })).toBe(60_000);
    expect(leastPatienceMsOf({ ...patient, routes: [] }, { account_id: 'main' })).toBe(300_000);
  });

  test.each([
    [
      'names a label that is not defined',
      { labels: { prod: { project_names: ['a'] } }, routes: [{ labels: ['production'] }] },
      ['routes', 0, 'labels', 0],
      /is no label of this policy; "labels" has prod/,
    ],
    [
      'names a label although none is defined',
      { routes: [{ labels: ['production'] }] },
      ['routes', 0, 'labels', 0],
      /define it in "labels"/,
    ],
    [
      'has a field that no route has',
      { routes: [{ project_name: 'prod-*' }] },
      ['routes', 0],
      /project_name/,
    ],
    ['has an empty pattern', { routes: [{ project_names: [''] }] }, ['routes', 0, 'project_names', 0], /./],
    ['rests on an empty label', { labels: { prod: {} } }, ['labels', 'prod'], /takes at least one of/],
  ])('that %s is refused with its place', (_what, wrong, path, message) => {
    const [issue] = alertPolicySchema.safeParse(wrong).error?.issues ?? [];

    expect(issue?.path).toEqual(path);
    expect(issue?.message).toMatch(message);
  });
});

describe('an alert', () => {
  const routes = [{ project_names: ['prod-*'], channels: ['slack'] }, { channels: ['email'] }];

  function aNamedNotifier(policy: object, nameOf: () => Promise<string | undefined>) {
    const notifier = aNotifier(policy);
    Object.assign(notifier.deps, { projectNameOf: nameOf });
    return notifier;
  }

  test('goes where the name of its project leads it, and says the name', async () => {
    const { deliver, slack, email } = aNamedNotifier({ routes }, async () => 'prod-shop');

    await deliver(anEvent());

    expect([slack.messages.length, email.messages.length]).toEqual([1, 0]);
    expect(slack.messages[0]?.message.flat()).toMatchObject([{ project_name: 'prod-shop' }]);
  });

  test('is repeated by the queue when the name that decides its route cannot be read', async () => {
    const notifier = aNamedNotifier({ routes }, () => Promise.reject(new Error('throttled')));

    const answer = await notifier.deliver(anEvent());

    expect(answer.batchItemFailures).toHaveLength(1);
    expect(notifier.email.messages).toEqual([]);
  });

  test('goes without the name when no route needs it and it cannot be read', async () => {
    const notifier = aNamedNotifier({}, () => Promise.reject(new Error('throttled')));

    await notifier.deliver(anEvent());

    expect(notifier.slack.messages).toHaveLength(1);
    expect(notifier.logged('alert.name_not_read')).toHaveLength(1);
  });

  test('waits for as long as the route of its name says', async () => {
    const patient = [{ project_names: ['prod-*'], patience_seconds: 60 }, { patience_seconds: 600 }];
    const prod = aNamedNotifier({ routes: patient }, async () => 'prod-shop');
    const other = aNamedNotifier({ routes: patient }, async () => 'shop');
    for (const { deliver, pass } of [prod, other]) {
      await deliver(anEvent());
      await pass(5);
    }
    const counts = [prod, other].map(({ slack }) => slack.messages.length);
    await other.pass(6);

    expect(counts).toEqual([1, 0]);
    expect(other.slack.messages).toHaveLength(1);
  });
});
