/** Tests which channels report a notice. */

import { describe, expect, test } from 'vitest';
import { isWantedBy, reportsDigests, routeOf } from '../../../../functions/notifier/deciding/policy.ts';
import { aNotice } from '../../channel-under-test.ts';

describe('a route', () => {
  test('without channels goes to every channel that is set up', () => {
    const routes = [{ severity_min: 'info' as const }];

    expect(routeOf(aNotice(), { labels: {}, routes })).toEqual({ channels: 'every', isDefault: false });
  });

  test('with channels goes to those alone', () => {
    const routes = [{ severity_min: 'info' as const, channels: ['email'] }];

    expect(routeOf(aNotice(), { labels: {}, routes })).toEqual({ channels: ['email'], isDefault: false });
  });
});

describe('the lowest severity', () => {
  const critical = { severity_min: 'critical' as const };
  const recovered = aNotice({ kind: 'recovered', severity: 'info' });

  test('of a route keeps what is less severe from every channel, but not the end of a failure', () => {
    expect(routeOf(aNotice(), { labels: {}, routes: [critical] }).channels).toEqual([]);
    expect(routeOf(recovered, { labels: {}, routes: [critical] }).channels).toBe('every');
  });

  test('of a channel holds whatever route leads to it, and for that channel alone', () => {
    const policy = { channels: { email: critical } };

    expect(isWantedBy({ name: 'email' }, aNotice(), policy)).toBe(false);
    expect(isWantedBy({ name: 'email' }, aNotice({ severity: 'critical' }), policy)).toBe(true);
    expect(isWantedBy({ name: 'email' }, recovered, policy)).toBe(true);
    expect(isWantedBy({ name: 'slack' }, aNotice(), policy)).toBe(true);
  });

  test('of a kind of channel holds unless the policy says otherwise', () => {
    const pager = { name: 'pagerduty', severityMin: 'critical' } as const;

    expect(isWantedBy(pager, aNotice(), { channels: {} })).toBe(false);
    expect(isWantedBy(pager, aNotice(), { channels: { pagerduty: { severity_min: 'warning' } } })).toBe(true);
  });

  test.each([
    ['every alert', { labels: {}, routes: [{ severity_min: 'info' as const }], channels: {} }, true],
    ['critical ones by route', { labels: {}, routes: [critical], channels: {} }, false],
    ['critical ones by its own severity', { labels: {}, routes: [], channels: { slack: critical } }, false],
    [
      'every alert of one of its routes',
      {
        labels: {},
        routes: [{ ...critical, project_ids: ['a'] }, { severity_min: 'info' as const }],
        channels: {},
      },
      true,
    ],
  ])('decides on the digest: a channel that gets %s', (_what, policy, isReported) => {
    expect(reportsDigests({ name: 'slack' }, policy)).toBe(isReported);
  });
});
