/** What one invocation works with while it finds out which projects there are. */

import type { AccountOrigin } from './account-origin.ts';
import type { KnownProjects } from './known-projects.ts';
import type { Listings } from './listings.ts';

export interface Discovery {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly origin: AccountOrigin;
  /** Projects that a page of the list is adding at the moment, so that no other page adds them, too. */
  readonly addedNow: Set<string>;
}
