/** Adds the route of regions (public contract). */

import type { Hono } from 'hono';
import { REGIONS } from '../../world/projects/regions.ts';
import { DEFAULT_PROJECT } from '../../world/state/project-settings.ts';
import type { UpstreamEnv } from '../upstream-context.ts';

export function addRegionRoutes(app: Hono<UpstreamEnv>): void {
  app.get('/api/v2/regions', (c) =>
    c.json({
      regions: REGIONS.map(({ id, name, latitude, longitude }) => ({
        region_id: id,
        name,
        default: id === DEFAULT_PROJECT.regionId,
        geo_lat: latitude,
        geo_long: longitude,
      })),
    }),
  );
}
