/** Lists the bounds of what is kept of the durations of operations. */

import {
  ACCOUNT_WAIT_MS_MAX,
  PENDING_SAMPLES_MAX,
  PROJECT_WAIT_MS_MAX,
  WAITING_SAMPLES_MAX,
} from '../../../../functions/poller/account/insights/pending-samples.ts';
import { ACTIONS_MAX } from '../../../../shared/insights/day-insights.ts';
import { VALUE_MAX } from '../../../../shared/insights/distribution.ts';
import { REMEMBERED_MAX } from '../../../../shared/insights/usual-durations.ts';
import type { BoundGroup } from './bound.ts';

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
