/** Scripts of what is told together and what is told at once: escalation, gathering, repetition, storms and common causes. */

import { projectKey } from '../../../../shared/store/keys.ts';
import {
  accountDegrades,
  accountIsWatched,
  accountRecovers,
  at,
  channel,
  each,
  ends,
  fails,
  finishes,
  givesUp,
  happens,
  moves,
  operation,
  repeats,
  runs,
  type Script,
  stalls,
} from '../script.ts';
import { isUsual } from '../usual.ts';

const one = operation('op-1');
const inProject = (number: number, fields: object = {}) =>
  operation(`op-${number}`, { project: `project-${number}`, ...fields });

export const gathering: readonly Script[] = [
  {
    name: 'escalation',
    says: 'A failure becomes worse: a second and a third failure, then given up; what is worse does not wait behind what was told.',
    isWhole: true,
    steps: [
      ...at('0:00', fails(one, 1)),
      ...at('7:00', fails(one, 2)),
      ...at('9:00', fails(one, 3)),
      ...at('11:00', givesUp(one, { failures_count: 4 })),
    ],
    until: '40:00',
  },
  {
    name: 'escalation-and-recovery',
    says: 'A third failure is told, and the operation recovers at last, which resolves what PagerDuty has open.',
    steps: [
      ...at('0:00', fails(one, 1)),
      ...at('1:00', fails(one, 2)),
      ...at('2:00', fails(one, 3)),
      ...at('20:00', finishes(one)),
    ],
    until: '30:00',
  },
  {
    name: 'stall-and-failure',
    says: 'What takes too long fails afterwards, and both troubles end together.',
    steps: [
      ...at('0:00', runs(one)),
      ...at('6:00', stalls(one, 6)),
      ...at('8:00', fails(one, 1)),
      ...at('40:00', finishes(one, { was_stalled: true })),
    ],
    until: '50:00',
  },
  {
    name: 'one-recovers-of-two',
    says: 'Of two operations of one incident one recovers and the other goes on failing, so the incident stays open.',
    isWhole: true,
    channels: ['slack', 'pagerduty'],
    steps: [
      ...at('0:00', fails(one), fails(operation('op-2'))),
      ...at('10:00', finishes(one)),
      ...at('25:00', finishes(operation('op-2'))),
    ],
    until: '40:00',
  },
  {
    name: 'info-then-two-criticals',
    says: 'An info message starts no gathering, so the critical alert after it is visible at once on Slack and by e-mail.',
    steps: [
      ...at('0:00', accountIsWatched()),
      ...at('4:35', givesUp(inProject(1))),
      ...at('7:43', givesUp(inProject(2))),
    ],
    until: '30:00',
  },
  {
    name: 'flapping-account',
    says: 'An account that degrades and recovers every quarter of an hour holds back no alert of another trouble.',
    steps: [
      ...each({ from: '0:00', every: '15:00', count: 6 }, () => accountDegrades('upstream_failing')),
      ...each({ from: '5:00', every: '15:00', count: 6 }, () => accountRecovers('upstream_failing')),
      ...each({ from: '7:00', every: '30:00', count: 3 }, (place) => givesUp(inProject(place))),
    ],
    until: '2:00:00',
  },
  {
    name: 'good-news-starts-nothing',
    says: 'The digest of what healed by itself holds back no warning after it.',
    steps: [
      ...at('0:00', fails(one)),
      ...at('1:00', finishes(one)),
      ...at('1:02:00', stalls(inProject(2), 6)),
    ],
    until: '1:20:00',
  },
  {
    name: 'gathered',
    says: 'After a message the alerts of other incidents are gathered for ten minutes, and come in one message, the worst first.',
    isWhole: true,
    steps: [
      ...at('0:00', stalls(inProject(1), 6)),
      ...at('2:00', stalls(inProject(2), 6)),
      ...at('4:00', givesUp(inProject(3))),
      ...at('6:00', fails(inProject(4), 3)),
    ],
    until: '30:00',
  },
  {
    name: 'gathering-grows',
    says: 'While messages keep following, they are gathered for 10, 20 and then 40 minutes; after a quiet time it begins anew.',
    channels: ['email'],
    steps: [
      ...each({ from: '0:00', every: '5:00', count: 36 }, (place) => stalls(inProject(place), 6)),
      ...at('6:00:00', stalls(inProject(98), 6)),
      ...at('6:05:00', stalls(inProject(99), 6)),
    ],
    until: '6:20:00',
  },
  {
    name: 'gathering-is-off',
    says: 'With gather_seconds 0 every incident is told alone and at once.',
    policy: { gather_seconds: 0 },
    steps: [
      ...at('0:00', stalls(inProject(1), 6)),
      ...at('2:00', stalls(inProject(2), 6)),
      ...at('4:00', givesUp(inProject(3))),
    ],
    until: '10:00',
  },
  {
    name: 'account-while-gathering',
    says: 'An account that cannot be read is told at once while others are gathered, and the gathered ones are not late for it.',
    steps: [
      ...at('0:00', stalls(inProject(1), 6)),
      ...at('2:00', stalls(inProject(2), 6)),
      ...at('4:00', accountDegrades()),
      ...at('5:00', stalls(inProject(3), 6)),
    ],
    until: '30:00',
  },
  {
    name: 'beside-a-told-one',
    says: 'A second operation of an incident that was already waiting when the first was told is told when its own five minutes are over.',
    policy: { gather_seconds: 0 },
    steps: [...at('0:00', fails(one)), ...at('3:00', fails(operation('op-2')))],
    until: '15:00',
  },
  {
    name: 'repetitions',
    says: 'What keeps failing is told in windows that double from five minutes, and after a rest it begins anew.',
    policy: { gather_seconds: 0, patience_seconds: 0 },
    channels: ['email', 'webhook'],
    steps: [
      ...each({ from: '0:00', every: '4:00', count: 60 }, (place) => fails(operation(`op-${place}`))),
      ...at('7:00:00', fails(operation('op-97'))),
      ...at('18:00:00', fails(operation('op-98'))),
      ...at('18:02:00', fails(operation('op-99'))),
    ],
    until: '18:10:00',
  },
  {
    name: 'repetitions-of-stalls',
    says: 'Three operations of one incident stall within two minutes: the first is told at once, and the others in one message after the window.',
    policy: { gather_seconds: 0 },
    steps: [
      ...at('0:00', stalls(one, 6)),
      ...at('1:00', stalls(operation('op-2'), 6)),
      ...at('2:00', stalls(operation('op-3'), 6)),
    ],
    until: '15:00',
  },
  {
    name: 'window-of-the-policy',
    says: 'The window of the policy counts: with a minute the second failure of an incident is told after a minute.',
    policy: { gather_seconds: 0, patience_seconds: 0, window_seconds: 60 },
    steps: [...at('0:00', fails(one)), ...at('0:20', fails(operation('op-2')))],
    until: '5:00',
  },
  {
    name: 'many-of-one-incident',
    says: 'Thirty operations of one incident are one message, in which every one of them is named.',
    isWhole: true,
    steps: at('0:00', ...Array.from({ length: 30 }, (_, place) => fails(operation(`op-${place + 1}`)))),
    until: '10:00',
  },
  {
    name: 'common-cause',
    says: 'Six projects fail in the same action within minutes although hardly any usually does, so the service is named.',
    isWhole: true,
    steps: [
      ...at('0:00', isUsual({ action: 'start_compute', operations: 2_000, failed: 4, startedPerHour: 60 })),
      ...each({ from: '1:00', every: '0:20', count: 6 }, (place) => fails(inProject(place))),
      ...at('30:00', fails(inProject(7), 3)),
    ],
    until: '40:00',
  },
  {
    name: 'usual-failures',
    says: 'Six projects fail in an action in which that many usually do, so nobody is blamed.',
    isWhole: true,
    channels: ['email'],
    steps: [
      ...at(
        '0:00',
        isUsual({ action: 'start_compute', operations: 2_000, failed: 600, startedPerHour: 600 }),
      ),
      ...each({ from: '1:00', every: '0:20', count: 6 }, (place) => fails(inProject(place))),
    ],
    until: '20:00',
  },
  {
    name: 'alike-alone',
    says: 'An alert about one operation says how many other projects fail alike and since when, and how long the action usually takes.',
    isWhole: true,
    policy: { gather_seconds: 0, patience_seconds: 0 },
    steps: [
      ...at('0:00', isUsual({ action: 'start_compute', operations: 2_000, failed: 4, startedPerHour: 6 })),
      ...at('1:00', fails(inProject(1))),
      ...at('2:00', fails(inProject(2))),
      ...at('3:00', fails(inProject(3))),
      ...at('4:00', fails(inProject(4))),
      ...at('15:00', fails(inProject(5))),
    ],
    until: '20:00',
  },
  {
    name: 'two-common-causes',
    says: 'Two actions fail in many projects at once, and each is named as a cause of its own.',
    channels: ['email'],
    isWhole: true,
    steps: [
      ...at(
        '0:00',
        isUsual({ action: 'start_compute', operations: 2_000, failed: 4, startedPerHour: 60 }),
        isUsual({ action: 'create_branch', operations: 2_000, failed: 4, startedPerHour: 60 }),
      ),
      ...each({ from: '1:00', every: '0:10', count: 5 }, (place) => [
        fails(inProject(place)),
        fails(inProject(place + 10, { action: 'create_branch' })),
      ]),
    ],
    until: '20:00',
  },
  {
    name: 'storm',
    says: 'Three hundred failures of a hundred projects wait for nothing: each of them is named within minutes on every channel.',
    steps: at(
      '0:00',
      ...Array.from({ length: 300 }, (_, place) =>
        fails(operation(`op-${place + 1}`, { project: `project-${place % 100}` }), 1),
      ),
    ),
    until: '20:00',
  },
  {
    name: 'forty-criticals',
    says: 'Forty incidents become critical within a minute: a channel that is full gets the rest in one message.',
    late: 'PagerDuty takes thirty events a minute.',
    steps: at('0:00', ...Array.from({ length: 40 }, (_, place) => givesUp(inProject(place + 1)))),
    until: '15:00',
  },
  {
    name: 'full-channel',
    says: 'Eight incidents one after the other within a minute: Slack takes five messages a minute and e-mail one in thirty seconds.',
    late: 'The channel takes no more messages in this minute.',
    policy: { gather_seconds: 0 },
    steps: each({ from: '0:00', every: '0:04', count: 8 }, (place) => givesUp(inProject(place))),
    until: '5:00',
  },
  {
    name: 'digest',
    says: 'The digest comes once an hour, counts operations and attempts by action, and compares itself with the one before.',
    isWhole: true,
    steps: [
      ...each({ from: '0:00', every: '2:00', count: 5 }, (place) => fails(inProject(place))),
      ...each({ from: '1:00', every: '2:00', count: 5 }, (place) => finishes(inProject(place))),
      ...at('20:00', fails(inProject(6, { action: 'create_branch' }), 2)),
      ...at('22:00', ends(inProject(6, { action: 'create_branch' }), 'cancelled')),
      ...at('1:30:00', fails(inProject(7))),
      ...at('1:31:00', finishes(inProject(7))),
    ],
    until: '2:40:00',
  },
  {
    name: 'reminder',
    says: 'A failure that goes on is told again each day until it ends; what was given up is not repeated.',
    steps: [
      ...at('0:00', fails(one, 3), givesUp(operation('op-2', { project: 'till' }))),
      ...at('25:00:00', finishes(one)),
    ],
    isLong: true,
    until: '49:30:00',
  },
  {
    name: 'moved',
    says: 'A project moves: what failed there, told or not, goes on under the new account and is not told each day under the old one; what was given up stays.',
    steps: [
      ...at('0:00', fails(one, 3), givesUp(operation('op-2', { action: 'apply_config' }))),
      ...at('0:00', fails(operation('op-3', { project: 'till' }), 3)),
      ...at('20:00:00', fails(operation('op-4', { action: 'create_branch' }))),
      ...at('20:01:00', moves('shop', 'other')),
      ...at('20:02:00', repeats(5)),
      ...at('21:00:00', fails(operation('op-1', { account: 'other' }), 4, { sequence: 2 })),
      ...at('22:00:00', finishes(operation('op-1', { account: 'other' }), { sequence: 3 })),
    ],
    isLong: true,
    until: '25:00:00',
  },
  {
    name: 'reminders-of-an-account-and-a-channel',
    says: 'A reminder names the account that cannot be read, and the channel that takes no messages.',
    channels: ['email', 'webhook'],
    policy: { patience_seconds: 0, gather_seconds: 0 },
    steps: [...at('0:00', accountDegrades(), channel('webhook', { kind: 'fails', status: 500 }))],
    isLong: true,
    until: '25:00:00',
  },
  {
    name: 'failure-after-the-move',
    says: 'A failure of the old account comes after the move of its project: it is told and ends, and is not repeated each day.',
    channels: ['email', 'pagerduty'],
    policy: { patience_seconds: 0 },
    steps: [
      ...at(
        '0:00',
        happens('the poller notes that shop has moved from main to other', ({ memory }) =>
          memory.as('poller').update({ key: projectKey('main', 'shop'), set: { moved_to: 'other' } }),
        ),
        moves('shop', 'other'),
      ),
      ...at('0:01', fails(one, 3)),
      ...at('2:00:00', finishes(operation('op-1', { account: 'other' }), { sequence: 2, failures_count: 3 })),
    ],
    isLong: true,
    until: '25:00:00',
  },
];
