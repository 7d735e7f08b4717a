/** Lists the bounds of what is kept of the durations of operations. */

import {
  COUNTS_WAIT_MS_MAX,
  PENDING_CHANGES_MAX,
} from '../../../../functions/poller/account/insights/pending-counts.ts';
import {
  ACCOUNT_WAIT_MS_MAX,
  PENDING_SAMPLES_MAX,
  PROJECT_WAIT_MS_MAX,
  WAITING_SAMPLES_MAX,
} from '../../../../functions/poller/account/insights/pending-samples.ts';
import { ACTIONS_MAX } from '../../../../shared/insights/day-insights.ts';
import { VALUE_MAX } from '../../../../shared/insights/distribution.ts';
import { FAILING_PROJECTS_MAX } from '../../../../shared/insights/hour-counts.ts';
import { REMEMBERED_MAX } from '../../../../shared/insights/usual-durations.ts';
import { NAMES_PER_ITEM_MAX } from '../../../../shared/store/project-names.ts';
import { type BoundGroup, boundMet } from './bound.ts';

export const insightBounds: BoundGroup = {
  title: 'Insights',
  bounds: [
    {
      name: 'Samples of the account, or of one project, that wait for one write',
      value: WAITING_SAMPLES_MAX,
      unit: 'samples',
      reason: 'A write for each operation that ends would cost half as much as its record.',
      whenMet:
        'They are written. A process that ends before loses fewer than this, or what came within ten seconds, and none is counted twice.',
      signal: '`operation_count` of the insights says on how many operations they rest',
    },
    {
      name: 'Time for which a sample waits for the write of its account',
      value: ACCOUNT_WAIT_MS_MAX,
      unit: 'ms',
      reason: 'The item has a few kilobytes, so this costs a thousand write units a day at most.',
      whenMet: 'It is written, however few wait.',
      signal: '`operation_count` of the insights says on how many operations they rest',
    },
    {
      name: 'Time for which a sample waits for the write of its project',
      value: PROJECT_WAIT_MS_MAX,
      unit: 'ms',
      reason: 'There can be thousands of projects in which little happens.',
      whenMet: 'It is written, however few wait.',
      signal: '`operation_count` of the insights says on how many operations they rest',
    },
    {
      name: 'Samples of one account that wait in all',
      value: PENDING_SAMPLES_MAX,
      unit: 'samples',
      reason:
        'They take about ten megabytes of memory. This number is reached only while the table refuses writes.',
      whenMet: 'Further samples are dropped. Events and records are not affected.',
      signal: 'Log line `insights.samples_dropped` with `reason: too_many`',
    },
    {
      name: 'Actions of one day of an account or project',
      value: ACTIONS_MAX,
      unit: 'actions',
      reason:
        'With every bin of every action in use the item has 350 kB, and DynamoDB takes 400. The API has about thirty actions.',
      whenMet: 'Samples of further actions are dropped on that day.',
      signal: 'Log line `insights.samples_dropped` with `reason: too_many_actions`',
    },
    {
      name: 'Time for which a beginning or a failure waits for the counts of its hour',
      value: COUNTS_WAIT_MS_MAX,
      unit: 'ms',
      reason: 'One write a minute costs little, and the chart of the console has bars of an hour.',
      whenMet: 'It is written. A process that ends before loses what waits, and nothing is counted twice.',
      signal: 'The chart of the console has gaps',
    },
    {
      name: 'Beginnings and failures of one account that wait for the counts',
      value: PENDING_CHANGES_MAX,
      unit: 'changes',
      reason: 'They take about five megabytes. This number is reached only while the table refuses writes.',
      whenMet: 'Further changes are not counted. Events and records are not affected.',
      signal: 'Log line `hour_counts.dropped` with `reason: too_many`',
    },
    {
      name: 'Projects with failures that the counts of one hour name',
      value: FAILING_PROJECTS_MAX,
      unit: 'projects',
      reason: 'The item stays under 60 kB, and each write of it is billed by its size.',
      whenMet: 'The failures of further projects count in the sum of the hour only.',
      signal: 'The sum of the hour is larger than that of its projects',
    },
    {
      name: 'Names of projects in one of the 32 items that hold them',
      value: NAMES_PER_ITEM_MAX,
      unit: 'names',
      reason: 'With the longest ids and names the item has 330 kB, and DynamoDB takes 400.',
      whenMet: 'Further projects are shown and found by their ids only.',
      signal: boundMet('project_names'),
    },
    {
      name: 'Longest duration that insights distinguish',
      value: VALUE_MAX,
      unit: 'ms',
      reason: 'It bounds the number of bins. An operation is not watched for longer after it has failed.',
      whenMet: 'A longer operation counts as one of this duration.',
      signal: 'The figure itself',
    },
    {
      name: 'Projects whose usual durations one process remembers',
      value: REMEMBERED_MAX,
      unit: 'projects',
      reason:
        'Each takes a few kilobytes of memory, and only projects with a slow or failed operation are read.',
      whenMet: 'All are read again, which costs a few reads and changes no answer.',
      signal: 'None; nothing is lost',
    },
  ],
};
