/** Scripts of PagerDuty's pages: one for each trouble, however many operations it has, until each of them has ended. */

import {
  acknowledges,
  at,
  each,
  fails,
  finishes,
  givesUp,
  operation,
  type Script,
  stalls,
} from '../script.ts';
import { isUsual } from '../usual.ts';

const inProject = (number: number, fields: object = {}) =>
  operation(`op-${number}`, { project: `project-${number}`, ...fields });
const one = operation('op-1');

const USUAL = isUsual({ action: 'start_compute', operations: 2_000, failed: 4, startedPerHour: 60 });
const ONLY = { channels: ['pagerduty'], isWhole: false } as const;

const LATE = 'The page of all of them has rung; its list grows five times a minute.';

const outage = (from: string) =>
  each({ from, every: '0:01', count: 50 }, (second) =>
    Array.from({ length: 10 }, (_, place) => givesUp(inProject(10 * (second - 1) + place + 1))),
  );

export const pages: readonly Script[] = [
  {
    ...ONLY,
    name: 'outage-at-pagerduty',
    says: 'Five hundred projects fail for good within a minute although hardly any usually does: PagerDuty opens two pages.',
    steps: [...at('0:00', USUAL, fails(inProject(501), 3)), ...outage('1:00')],
    until: '20:00',
    late: LATE,
  },
  {
    ...ONLY,
    name: 'outage-without-evidence',
    says: 'Nothing is known of what is usual, so no cause is named, and five hundred failures within a minute still share one page.',
    steps: [...at('0:00', fails(inProject(501), 3)), ...outage('1:00')],
    until: '20:00',
    late: LATE,
  },
  {
    ...ONLY,
    name: 'common-cause-ends',
    says: 'The page of five projects is resolved when the last of their operations has ended, and not before.',
    steps: [
      ...at('0:00', USUAL),
      ...at('1:00', ...[1, 2, 3, 4, 5].map((number) => fails(inProject(number), 3))),
      ...each({ from: '10:00', every: '1:00', count: 5 }, (number) =>
        finishes(inProject(number), { failures_count: 3 }),
      ),
    ],
    until: '20:00',
  },
  {
    ...ONLY,
    name: 'worse-page',
    says: 'A third failure opens a page; given up, it opens another one and closes the first, so that one is open.',
    steps: [...at('0:00', fails(one, 3)), ...at('10:00', givesUp(one, { failures_count: 4 }))],
    until: '20:00',
  },
  {
    ...ONLY,
    name: 'worse-on-a-shared-page',
    says: 'Five failures share a page that a person has acknowledged; what is given up then wakes a person again, and the page stays open for the others.',
    steps: [
      ...at('1:00', ...[1, 2, 3, 4, 5].map((number) => fails(inProject(number), 3))),
      ...at(
        '5:00',
        ...[1, 2, 3, 4, 5].map((number) =>
          acknowledges({ project: `project-${number}`, action: 'start_compute' }),
        ),
      ),
      ...at('40:00', givesUp(inProject(1), { failures_count: 4 })),
      ...at('42:00', ...[2, 3, 4].map((number) => givesUp(inProject(number), { failures_count: 4 }))),
      ...at('50:00', finishes(inProject(5), { failures_count: 3 })),
    ],
    until: '55:00',
  },
  {
    ...ONLY,
    name: 'as-bad-as-another-on-a-shared-page',
    says: 'One of five on a shared page was given up from the beginning: after a person has acknowledged all, each other that is given up wakes a person again, on another page.',
    steps: [
      ...at(
        '1:00',
        givesUp(inProject(1), { failures_count: 4 }),
        ...[2, 3, 4, 5].map((number) => fails(inProject(number), 3)),
      ),
      ...at(
        '5:00',
        ...[1, 2, 3, 4, 5].map((number) =>
          acknowledges({ project: `project-${number}`, action: 'start_compute' }),
        ),
      ),
      ...at('8:00', givesUp(inProject(2), { failures_count: 4 })),
      ...at('40:00', givesUp(inProject(3), { failures_count: 4 })),
      ...at('50:00', ...[4, 5].map((number) => finishes(inProject(number), { failures_count: 3 }))),
    ],
    until: '55:00',
  },
  {
    ...ONLY,
    name: 'old-pages',
    says: 'Fifty pages of what was given up are open, so a further one joins the rest; a week later they are forgotten, and each new trouble has a page of its own.',
    steps: [
      ...each({ from: '0:00', every: '20:00', count: 50 }, (number) => givesUp(inProject(number))),
      ...at('17:00:00', givesUp(inProject(51)), givesUp(inProject(52))),
      ...at('190:00:00', givesUp(inProject(53))),
      ...at('190:20:00', givesUp(inProject(54))),
    ],
    isLong: true,
    until: '191:00:00',
  },
  {
    ...ONLY,
    name: 'warnings-at-pagerduty',
    says: 'The policy lets PagerDuty have warnings: four share a page, and the one that becomes critical opens another, which a later warning joins.',
    policy: { channels: { pagerduty: { severity_min: 'warning' } }, patience_seconds: 0 },
    steps: [
      ...at('0:00', USUAL, ...[1, 2, 3, 4].map((number) => fails(inProject(number)))),
      ...at('2:00', fails(inProject(1), 3)),
      ...at('4:00', fails(inProject(5))),
    ],
    until: '10:00',
  },
  {
    ...ONLY,
    name: 'stalled-at-pagerduty',
    says: 'Where the policy lets PagerDuty have warnings, an operation that takes too long opens a page, and its end resolves it.',
    policy: { channels: { pagerduty: { severity_min: 'warning' } } },
    steps: [...at('6:00', stalls(one, 6)), ...at('40:00', finishes(one, { was_stalled: true }))],
    until: '50:00',
  },
  {
    ...ONLY,
    name: 'page-of-an-acknowledged-one',
    says: 'A person acknowledges at the bridge: PagerDuty has the page acknowledged within a minute, and resolved at the end.',
    steps: [
      ...at('0:00', fails(one, 3)),
      ...at('5:00', acknowledges({ project: 'shop', action: 'start_compute' })),
      ...at('10:00', finishes(one, { failures_count: 3 })),
    ],
    until: '15:00',
  },
  {
    ...ONLY,
    name: 'nothing-opened-nothing-resolved',
    says: 'Failures that are no business of PagerDuty end, and PagerDuty gets no request.',
    steps: [
      ...at('0:00', fails(one), fails(inProject(2))),
      ...at('10:00', finishes(one, { failures_count: 1 }), finishes(inProject(2), { failures_count: 1 })),
    ],
    until: '15:00',
  },
];
