/** Scripts of every kind of event that people are alerted to, and of those that they are not. */

import {
  accountDegrades,
  accountIsWatched,
  accountRecovers,
  approval,
  at,
  ends,
  fails,
  finishes,
  givesUp,
  happens,
  isWatchedNoLonger,
  operation,
  repeats,
  runs,
  type Script,
  stalls,
  usageCrosses,
} from '../script.ts';

const one = operation('op-1');
const ERROR = { error: 'storage unavailable', branch_id: 'br-yellow-dawn', endpoint_id: 'ep-lingering-surf' };

export const kinds: readonly Script[] = [
  {
    name: 'failed',
    says: 'A failure that lasts for five minutes is told as a warning, once on each channel.',
    isWhole: true,
    steps: at('0:00', fails(one, 1, ERROR)),
    until: '20:00',
  },
  {
    name: 'failed-and-healed',
    says: 'A failure that ends within five minutes wakes nobody, and is counted in the digest an hour later.',
    isWhole: true,
    steps: [...at('0:00', fails(one)), ...at('4:00', finishes(one))],
    until: '1:10:00',
  },
  {
    name: 'failed-and-recovered',
    says: 'A failure that was told is followed by its end, which closes what is open.',
    isWhole: true,
    steps: [...at('0:00', fails(one)), ...at('12:00', runs(one, 1)), ...at('12:20', finishes(one))],
    until: '40:00',
  },
  {
    name: 'attempt-failed',
    says: 'An attempt that failed between two reads is told when the operation has not ended after five minutes.',
    isWhole: true,
    steps: [...at('0:00', runs(one)), ...at('1:00', runs(one, 1))],
    until: '10:00',
  },
  {
    name: 'third-failure',
    says: 'A third failure is critical, and is told at once.',
    isWhole: true,
    steps: at('0:00', fails(one, 3, ERROR)),
    until: '10:00',
  },
  {
    name: 'given-up',
    says: 'An operation that was given up is critical, and is told at once; PagerDuty keeps it open for a person.',
    isWhole: true,
    steps: at('0:00', givesUp(one, { failures_count: 4, ...ERROR })),
    until: '10:00',
  },
  {
    name: 'not-retried',
    says: 'A failed operation that was not retried in a month counts as given up.',
    isWhole: true,
    steps: at('0:00', isWatchedNoLonger(one, 'not_retried')),
    until: '10:00',
  },
  {
    name: 'vanished',
    says: 'An operation that vanished while it was open is told at once as a warning.',
    isWhole: true,
    steps: [...at('0:00', runs(one)), ...at('1:00', isWatchedNoLonger(one, 'vanished'))],
    until: '10:00',
  },
  {
    name: 'project-gone',
    says: 'What had failed in a project that is gone ends with it, and what was only open there is told to nobody.',
    isWhole: true,
    untold: { 'op-2': 'It was only open.', 'op-3': 'It was only open.' },
    policy: { routes: [{ project_ids: ['till'], patience_seconds: 0 }, {}] },
    steps: [
      ...at('0:00', fails(one), runs(operation('op-2')), runs(operation('op-3', { project: 'till' }))),
      ...at(
        '20:00',
        ...[one, operation('op-2'), operation('op-3', { project: 'till' })].map((each) =>
          isWatchedNoLonger(each, 'project_gone'),
        ),
      ),
    ],
    until: '1:30:00',
  },
  {
    name: 'stalled',
    says: 'An operation that takes too long is told at once, and its end as good news.',
    isWhole: true,
    steps: [
      ...at('0:00', runs(one)),
      ...at('6:00', stalls(one, 6)),
      ...at('20:00', finishes(one, { was_stalled: true })),
    ],
    until: '30:00',
  },
  {
    name: 'cancelled',
    says: 'An operation that is cancelled after a failure that was told ends it; one that is skipped does so, too.',
    isWhole: true,
    steps: [
      ...at('0:00', fails(one), fails(operation('op-2', { project: 'till' }))),
      ...at('20:00', ends(one, 'cancelled')),
      ...at('40:00', ends(operation('op-2', { project: 'till' }), 'skipped')),
    ],
    until: '50:00',
  },
  {
    name: 'cancelled-untold',
    says: 'An operation that is cancelled a minute after its failure is only counted.',
    steps: [...at('0:00', fails(one)), ...at('1:00', ends(one, 'cancelled'))],
    until: '1:10:00',
  },
  {
    name: 'unseen-failures',
    says: 'An operation that finishes after two failures which nobody saw is only counted, and after three it is told.',
    steps: [
      ...at('0:00', finishes(one, { failures_count: 2 })),
      ...at('1:00', finishes(operation('op-2', { project: 'till' }), { failures_count: 3 })),
    ],
    until: '1:10:00',
  },
  {
    name: 'account-watched',
    says: 'The first sight of an account is told as good news, and PagerDuty hears nothing of it.',
    isWhole: true,
    steps: at('0:00', accountIsWatched()),
    until: '5:00',
  },
  {
    name: 'usage-crossed',
    says: 'Shares of a quota are warnings, and a quota that is used up is critical and a page; each is told once.',
    isWhole: true,
    policy: { gather_seconds: 0 },
    steps: [
      ...at('0:00', usageCrosses(75)),
      ...at('10:00', usageCrosses(90)),
      ...at('20:00', usageCrosses(100)),
      ...at('21:00', repeats(3)),
    ],
    until: '30:00',
  },
  {
    name: 'usage-of-the-account',
    says: 'A limit of the configuration for all projects together is told without a project, and as no suspension.',
    isWhole: true,
    steps: at(
      '0:00',
      usageCrosses(100, { project_id: undefined, scope: 'account', limit_from: 'configuration' }),
    ),
    until: '5:00',
  },
  {
    name: 'account-degraded',
    says: 'An account whose key is rejected is critical at once, and its end is told.',
    isWhole: true,
    steps: [...at('0:00', accountDegrades()), ...at('30:00', accountRecovers())],
    until: '35:00',
  },
  {
    name: 'service-failing',
    says: 'An account whose service answers nothing is told with the other advice.',
    isWhole: true,
    channels: ['email', 'pagerduty'],
    steps: at('0:00', accountDegrades('upstream_failing')),
    until: '5:00',
  },
  {
    name: 'not-for-people',
    says: 'Ordinary progress, what had failed before the first sight, other events and replays wake nobody.',
    untold: { 'op-4': 'It had failed before the bridge watched.' },
    steps: [
      ...at(
        '0:00',
        runs(one),
        finishes(one),
        ends(operation('op-2'), 'cancelled'),
        ends(operation('op-3'), 'skipped'),
      ),
      ...at('1:00', fails(operation('op-4'), 4, { observed_by: 'backfill' })),
      ...at(
        '2:00',
        happens('every other event of the catalogue is published', ({ story }) =>
          story.examples((type) => !/^(Operation (State|Stalled|Watch)|Account|Project Usage)/.test(type)),
        ),
      ),
      ...at('3:00', repeats(5, { 'replay-name': 'a-replay' }, 'is replayed from the archive')),
      ...at(
        '4:00',
        happens('a failure is replayed by the bridge, past the rule', ({ story, enqueue }) => {
          const event = story.events[4];
          enqueue(
            JSON.stringify({
              ...event,
              resources: ['operations-bridge/replay/a-replay'],
              detail: { ...event?.detail, observed_by: 'poll' },
            }),
          );
        }),
      ),
    ],
    until: '2:00:00',
  },
  {
    name: 'approval',
    says: 'A call that waits for a person rings once, pages nobody, and its end is told where it was asked.',
    isWhole: true,
    steps: [...at('0:00', approval('wanted')), ...at('3:00', approval('denied', 'marta'))],
    until: '20:00',
  },
];
