/** Lists the bounds of the project list, and of when a project counts as gone, for docs/limits.md. */

import { DOUBTFUL, NOT_FOUND_SHARE_MAX } from '../../../../functions/poller/account/discovery/absence.ts';
import { PROJECT_PAGE_ROWS } from '../../../../functions/poller/account/discovery/fetch-list-page.ts';
import {
  BARREN_PAGES_MAX,
  LIST_PAGES_MAX,
  PROJECTS_MAX,
} from '../../../../functions/poller/planner/listing.ts';
import { DERIVED_KEPT_SECONDS } from '../../../../shared/store/adapters/retention.ts';
import { type BoundGroup, boundMet } from './bound.ts';

export const projectBounds: BoundGroup = {
  title: 'Projects of one account',
  bounds: [
    {
      name: 'Projects that are polled',
      value: PROJECTS_MAX,
      unit: 'projects',
      reason: 'The poller keeps about three kilobytes per project in memory.',
      whenMet:
        'Further projects are neither polled nor discovered until others are gone. The projects within the bound are polled as usual.',
      signal: boundMet('projects'),
    },
    {
      name: 'Pages of one reading of the project list',
      value: LIST_PAGES_MAX,
      unit: 'pages',
      reason:
        'One page for each project, so that the list is read to its end even if every page holds one row.',
      whenMet:
        'The reading ends. A project that it does not show is not considered removed on that evidence alone: its removal takes ten minutes of 404 answers.',
      signal: boundMet('list_pages'),
    },
    {
      name: 'Pages in a row without a new project',
      value: BARREN_PAGES_MAX,
      unit: 'pages',
      reason: 'A list that continues like this repeats itself.',
      whenMet:
        'The reading ends. A project that it does not show is not considered removed on that evidence alone: its removal takes ten minutes of 404 answers.',
      signal: boundMet('barren_pages'),
    },
    {
      name: 'Rows asked for on one page of the project list',
      value: PROJECT_PAGE_ROWS,
      unit: 'rows',
      reason: 'The largest page that the service gives.',
      whenMet: 'The next page is read. A page with fewer rows than requested does not count as the last one.',
      signal: 'No signal: nothing is left out.',
    },
    {
      name: 'Share of the rate limit for projects that answer 404',
      value: 100 * NOT_FOUND_SHARE_MAX,
      unit: '%',
      reason: 'When many projects are deleted at once, the others must still be polled.',
      whenMet: 'The removal of the deleted projects takes longer.',
      signal: 'Log lines `poll.interrupted` with `reason: not_found`; `Project Unreachable` comes later.',
    },
    {
      name: 'Time for which a project must answer 404 before it counts as gone, when the project list cannot prove it',
      value: DOUBTFUL.spanMs,
      unit: 'ms',
      reason:
        'The list proves nothing if one of its rows cannot be read, or if the key may not list projects. Then the 404 answers are the only evidence.',
      whenMet: 'The project is published as unreachable.',
      signal: 'Event `Project Unreachable`',
    },
    {
      name: 'Time for which a gone project stays in lists',
      value: 1_000 * DERIVED_KEPT_SECONDS,
      unit: 'ms',
      reason:
        'It is longer than anything else of the project is kept, so a project that returns does not repeat events.',
      whenMet: 'The item leaves the table and all lists. A project that returns later counts as a new one.',
      signal: '`visible: false` in lists until then; `Project Discovered` at its return',
    },
    {
      name: 'Time for which a branch or a compute is kept after its last change',
      value: 1_000 * DERIVED_KEPT_SECONDS,
      unit: 'ms',
      reason:
        'A branch that is restored must not become ready a second time, and a compute can run for months until its state changes.',
      whenMet:
        'The item leaves the table. A later restore of the branch may look like a creation, and the next change of the compute shows a gap.',
      signal: '`previous_state: null` in the next event of the compute',
    },
  ],
};
