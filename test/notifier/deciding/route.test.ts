/** Tests which channels report a notice. */

import { describe, expect, test } from 'vitest';
import { routeOf } from '../../../functions/notifier/deciding/route.ts';
import { aNotice } from '../channel-under-test.ts';

describe('a route', () => {
  test('without channels goes to every channel that is set up', () => {
    const routes = [{ severity_min: 'info' as const }];

    expect(routeOf(aNotice(), { routes })).toEqual({ channels: 'every', isDefault: false });
  });

  test('with channels goes to those alone', () => {
    const routes = [{ severity_min: 'info' as const, channels: ['email'] }];

    expect(routeOf(aNotice(), { routes })).toEqual({ channels: ['email'], isDefault: false });
  });
});
