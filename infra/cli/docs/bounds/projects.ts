/** Bounds of the project list, and of when a project counts as gone. */

import { DOUBTFUL, NOT_FOUND_SHARE_MAX } from '../../../../functions/poller/account/absence.ts';
import { PROJECT_PAGE_ROWS } from '../../../../functions/poller/account/fetch-list-page.ts';
import {
  BARREN_PAGES_MAX,
  LIST_PAGES_MAX,
  PROJECTS_MAX,
} from '../../../../functions/poller/planner/listing.ts';
import { GONE_PROJECT_EXTRA_SECONDS, SETTLED_KEPT_SECONDS } from '../../../../shared/store/bridge-store.ts';
import { type BoundGroup, boundMet } from './bound.ts';

export const projectBounds: BoundGroup = {
  title: 'Projects of one account',
  bounds: [
    {
      name: 'Projects that are polled',
      value: PROJECTS_MAX,
      unit: 'projects',
      reason: 'The poller keeps about a kilobyte of each in memory.',
      whenMet:
        'Projects beyond it are neither polled nor discovered until others are gone. The others are polled as usual.',
      signal: boundMet('projects'),
    },
    {
      name: 'Pages of one reading of the project list',
      value: LIST_PAGES_MAX,
      unit: 'pages',
      reason:
        'One page for each project, so that a service whose pages hold one row is read to its end, too.',
      whenMet: 'The reading ends. What it does not show is not evidence: removals take ten minutes.',
      signal: boundMet('list_pages'),
    },
    {
      name: 'Pages in a row without a new project',
      value: BARREN_PAGES_MAX,
      unit: 'pages',
      reason: 'A list that goes on like this goes round in circles.',
      whenMet: 'The reading ends. What it does not show is not evidence: removals take ten minutes.',
      signal: boundMet('barren_pages'),
    },
    {
      name: 'Rows asked for on one page of the project list',
      value: PROJECT_PAGE_ROWS,
      unit: 'rows',
      reason: 'The most that the service gives.',
      whenMet: 'The next page is read. A page with fewer rows is not taken for the last one.',
      signal: 'None is needed: nothing is left out.',
    },
    {
      name: 'Share of the rate limit for projects that answer 404',
      value: 100 * NOT_FOUND_SHARE_MAX,
      unit: '%',
      reason: 'After the deletion of many projects the others go on being polled.',
      whenMet: 'The removal of the projects takes longer.',
      signal: 'Log lines `poll.interrupted` with `reason: not_found`; `Project Unreachable` comes later.',
    },
    {
      name: '404s of a project before it is gone, when no list can prove it',
      value: DOUBTFUL.spanMs,
      unit: 'ms',
      reason:
        'A list that lacks a row it cannot read, or a key that may not list, leaves only the 404s themselves.',
      whenMet: 'The project is published as unreachable.',
      signal: 'Event `Project Unreachable`',
    },
    {
      name: 'Time for which a gone project stays in lists',
      value: 1_000 * (SETTLED_KEPT_SECONDS + GONE_PROJECT_EXTRA_SECONDS),
      unit: 'ms',
      reason:
        'It outlives everything else that is kept of the project, so that its return does not repeat anything.',
      whenMet: 'The item leaves the table and all lists. A project that returns after that is a new one.',
      signal: '`visible: false` in lists until then; `Project Discovered` at its return',
    },
  ],
};
