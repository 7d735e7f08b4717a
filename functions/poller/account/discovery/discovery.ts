/** Describes what one invocation works with while it finds out which projects there are. */

import type { AccountOrigin } from './account-origin.ts';
import type { KnownProjects } from './known-projects.ts';
import type { Listings } from './listings.ts';

export interface Discovery {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly origin: AccountOrigin;
  /** A page of the list is adding these projects at the moment, so no other page adds them, too. */
  readonly addedNow: Set<string>;
}
