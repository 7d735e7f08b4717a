/** Scripts of what people decide: routes and severities, mutes, and acknowledgements. */

import {
  accountDegrades,
  acknowledges,
  at,
  channel,
  each,
  fails,
  finishes,
  givesUp,
  happens,
  lifts,
  mutes,
  operation,
  runs,
  type Script,
  stalls,
  withdraws,
} from '../script.ts';
import { areNamed } from '../usual.ts';

const one = operation('op-1');
const till = operation('op-2', { project: 'till' });
const branch = operation('op-3', { action: 'create_branch' });
const listed = (place: number) => operation(`op-${place}`, { project: `project-${place}` });
const TROUBLE = `could not reach the compute: ${'the storage does not answer. '.repeat(20)}`;
const AT_ONCE = { gather_seconds: 0, patience_seconds: 0 };

const policies: readonly Script[] = [
  {
    name: 'route-by-project',
    says: 'A route by project id leads to its channels alone, and everything else to the route behind it.',
    policy: {
      ...AT_ONCE,
      routes: [
        { project_ids: ['shop'], channels: ['slack', 'pagerduty'] },
        { channels: ['email', 'webhook'] },
      ],
    },
    untold: {
      'op-1 on email': 'routed',
      'op-1 on webhook': 'routed',
      'op-2 on slack': 'routed',
      'op-2 on pagerduty': 'routed',
    },
    steps: [...at('0:00', fails(one), fails(till)), ...at('10:00', finishes(one), finishes(till))],
    until: '20:00',
  },
  {
    name: 'route-by-name-and-label',
    says: 'Routes choose projects by a pattern of their names and by labels; a project without a known name fits no pattern.',
    policy: {
      ...AT_ONCE,
      labels: { production: { project_names: ['prod-*', '*-live'] }, payments: { account_ids: ['pay'] } },
      routes: [
        { labels: ['production', 'payments'], channels: ['pagerduty'] },
        { project_names: ['test-*'], channels: ['slack'] },
        { channels: ['email'] },
      ],
    },
    untold: Object.fromEntries(
      [
        'op-1 on slack',
        'op-1 on email',
        'op-2 on slack',
        'op-2 on email',
        'op-3 on pagerduty',
        'op-3 on email',
      ]
        .concat(['op-4 on slack', 'op-4 on pagerduty', 'op-5 on slack', 'op-5 on email'])
        .concat(['op-1', 'op-2', 'op-3', 'op-4', 'op-5'].map((id) => `${id} on webhook`))
        .map((id) => [id, 'routed']),
    ),
    steps: [
      ...at('0:00', areNamed({ shop: 'prod-shop', till: 'till-live', bench: 'test-prod-1' })),
      ...at(
        '1:00',
        fails(one),
        fails(till),
        fails(operation('op-3', { project: 'bench' })),
        fails(operation('op-4', { project: 'unknown' })),
        fails(operation('op-5', { project: 'unknown', account: 'pay' })),
      ),
    ],
    until: '10:00',
  },
  {
    name: 'least-severity',
    says: 'A channel and a route report nothing below their severity, but the end of what they may have told; a channel of warnings gets no digest.',
    policy: {
      ...AT_ONCE,
      patience_seconds: 300,
      channels: { pagerduty: { severity_min: 'critical' }, slack: { severity_min: 'warning' } },
      routes: [{ project_ids: ['till'], severity_min: 'critical' }, {}],
    },
    untold: { 'op-1 on pagerduty': 'It is a warning.', 'op-2': 'It is a warning.' },
    steps: [
      ...at('0:00', fails(one), fails(till), givesUp(branch)),
      ...at('1:00', fails(operation('op-4', { project: 'bench' }))),
      ...at('2:00', finishes(operation('op-4', { project: 'bench' }))),
      ...at(
        '20:00',
        finishes(operation('op-5', { project: 'till', action: 'create_branch' }), { failures_count: 3 }),
      ),
    ],
    until: '1:20:00',
  },
  {
    name: 'patience-of-a-route',
    says: 'A route has its own patience: one tells every failure at once, another waits for ten minutes.',
    policy: {
      gather_seconds: 0,
      routes: [
        { project_ids: ['shop'], patience_seconds: 0 },
        { project_ids: ['till'], patience_seconds: 600 },
        {},
      ],
    },
    steps: [
      ...at('0:00', fails(one), fails(till), fails(operation('op-4', { project: 'bench' }))),
      ...at('1:00', fails(operation('op-5', { project: 'till', action: 'create_branch' }))),
      ...at('9:00', finishes(operation('op-5', { project: 'till', action: 'create_branch' }))),
    ],
    until: '15:00',
  },
  {
    name: 'no-route',
    says: 'When no route is about the account, its alerts go to every channel; a failure of a project without a route goes to none.',
    policy: { ...AT_ONCE, routes: [{ project_ids: ['shop'], channels: ['slack'] }] },
    untold: {
      'op-1 on email': 'routed',
      'op-1 on pagerduty': 'routed',
      'op-1 on webhook': 'routed',
      'op-2': 'There is no route.',
    },
    steps: at('0:00', accountDegrades(), fails(one), fails(till)),
    until: '5:00',
  },
  {
    name: 'named-project',
    says: 'A project is shown with its name beside its id.',
    isWhole: true,
    policy: AT_ONCE,
    steps: [...at('0:00', areNamed({ shop: 'Shop of the north' })), ...at('1:00', fails(one))],
    until: '5:00',
  },
];

const muted: readonly Script[] = [
  {
    name: 'mute-of-a-project',
    says: 'A mute of a project holds back that project alone; what still fails when it ends is told, and what has recovered is only counted.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', mutes('the project shop', { project_id: 'shop', minutes: 30 })),
      ...at('1:00', fails(one), fails(branch), fails(till)),
      ...at('10:00', finishes(branch)),
    ],
    until: '1:35:00',
  },
  {
    name: 'mute-of-an-action',
    says: 'A mute of an action holds it back in every project, and no other action.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', mutes('the action start_compute', { action: 'start_compute', minutes: 20 })),
      ...at('1:00', fails(one), fails(till), fails(branch)),
    ],
    until: '30:00',
  },
  {
    name: 'mute-of-an-action-of-a-project',
    says: 'A mute of an action in a project holds back just that.',
    policy: AT_ONCE,
    steps: [
      ...at(
        '0:00',
        mutes('start_compute in shop', { project_id: 'shop', action: 'start_compute', minutes: 20 }),
      ),
      ...at('1:00', fails(one), fails(till), fails(branch)),
    ],
    until: '30:00',
  },
  {
    name: 'mute-of-the-account',
    says: 'A mute of the whole account holds back everything but what is about a channel; the hourly digest counts what waits.',
    late: 'It is muted.',
    isWhole: true,
    channels: ['email', 'pagerduty', 'webhook'],
    policy: AT_ONCE,
    steps: [
      ...at('0:00', mutes('everything', { minutes: 90 })),
      ...at('1:00', fails(one, 3), accountDegrades()),
      ...at('2:00', channel('webhook', { kind: 'fails', status: 500 })),
      ...at('2:00', fails(operation('op-4', { account: 'other' }))),
      ...at('30:00', channel('webhook', { kind: 'works' })),
    ],
    until: '1:40:00',
  },
  {
    name: 'mute-of-an-incident',
    says: 'A mute of one incident holds back its further failures, and its message on Slack says who muted it, until when.',
    isWhole: true,
    policy: AT_ONCE,
    channels: ['slack', 'email'],
    steps: [
      ...at('0:00', fails(one), fails(branch)),
      ...at(
        '2:00',
        happens('marta mutes the incident of start_compute in shop for 60 min', async ({ people }) =>
          people().mute({ incident_id: await people().incidentIdOf(one), minutes: 60 }),
        ),
      ),
      ...at('10:00', fails(operation('op-4')), fails(operation('op-5', { action: 'create_branch' }))),
    ],
    until: '1:10:00',
  },
  {
    name: 'overlapping-mutes',
    says: 'Of overlapping mutes the last end counts, also in the digest, and what was muted says that it waited.',
    isWhole: true,
    channels: ['email', 'pagerduty'],
    policy: AT_ONCE,
    steps: [
      ...at('0:00', mutes('the project shop', { project_id: 'shop', minutes: 80 })),
      ...at('5:00', mutes('the action start_compute', { action: 'start_compute', minutes: 90 })),
      ...at('10:00', fails(one), fails(operation('op-4'))),
      ...at('1:12:00', fails(branch)),
    ],
    until: '1:40:00',
  },
  {
    name: 'mute-of-an-account-incident',
    says: 'A mute of the incident of an account that cannot be read holds back no failure of its projects.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', accountDegrades()),
      ...at(
        '2:00',
        happens('marta mutes the incident of the account for 60 min', async ({ people }) =>
          people().mute({ incident_id: await people().incidentIdOf({}), minutes: 60 }),
        ),
      ),
      ...at('10:00', accountDegrades('upstream_failing'), fails(one)),
    ],
    until: '20:00',
  },
  {
    name: 'mute-of-everything',
    says: 'A mute of the configuration without projects covers all accounts, but not what is about a channel.',
    late: 'It is muted.',
    policy: { ...AT_ONCE, mutes: [{ from: '2026-01-15T12:10:25Z', until: '2026-01-15T12:40:00Z' }] },
    steps: [
      ...at('0:00', channel('webhook', { kind: 'fails', status: 500 })),
      ...at('0:20', fails(till)),
      ...at('11:00', fails(one, 3), accountDegrades(), fails(operation('op-4', { account: 'other' }))),
      ...at('1:00:00', channel('webhook', { kind: 'works' })),
    ],
    until: '1:10:00',
  },
  {
    name: 'lifted-mute',
    says: 'A mute that is lifted ends at once.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', mutes('the project shop', { project_id: 'shop', minutes: 600 })),
      ...at('1:00', fails(one)),
      ...at('20:00', lifts(1)),
    ],
    until: '30:00',
  },
  {
    name: 'mute-of-the-configuration',
    says: 'A mute of the configuration begins and ends at its times, and the hourly digest counts what waits.',
    late: 'It is muted.',
    isWhole: true,
    channels: ['email', 'pagerduty'],
    policy: {
      ...AT_ONCE,
      mutes: [{ project_ids: ['shop'], from: '2026-01-15T12:10:00Z', until: '2026-01-15T14:00:00Z' }],
    },
    steps: [
      ...at('5:00', fails(one)),
      ...at('15:00', fails(operation('op-4'), 3), fails(branch)),
      ...at('16:00', fails(till)),
    ],
    until: '2:10:00',
  },
  {
    name: 'mute-while-waiting',
    says: 'A failure that waits for its five minutes when it is muted goes on waiting until the mute ends, and is told then.',
    policy: { gather_seconds: 0 },
    steps: [
      ...at('0:00', fails(one)),
      ...at('3:00', mutes('the project shop', { project_id: 'shop', minutes: 15 })),
    ],
    until: '25:00',
  },
];

const cared: readonly Script[] = [
  {
    name: 'acknowledged',
    says: 'After an acknowledgement further failures wake nobody and are counted; what is worse and the end are told, and PagerDuty hears of it.',
    isWhole: true,
    policy: AT_ONCE,
    channels: ['slack', 'pagerduty', 'webhook'],
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one, 'on it')),
      ...at('10:00', fails(operation('op-4')), fails(one, 2)),
      ...at('30:00', fails(one, 3)),
      ...at('45:00', finishes(one), finishes(operation('op-4'))),
    ],
    untold: { 'op-4': 'It is acknowledged, and has ended.' },
    until: '1:20:00',
  },
  {
    name: 'acknowledged-goes-on',
    says: 'An operation that failed in silence after an acknowledgement is not forgotten: its message says that it fails, and its end is told.',
    policy: AT_ONCE,
    isWhole: true,
    channels: ['slack', 'email'],
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one)),
      ...at('10:00', fails(operation('op-4'))),
      ...at('20:00', finishes(one)),
      ...at('40:00', finishes(operation('op-4'))),
    ],
    untold: { 'op-4': 'It is acknowledged, and has ended.' },
    until: '50:00',
  },
  {
    name: 'acknowledged-ends',
    says: 'Operations that fail after an acknowledgement end one after the other: nobody hears of those ends while another one fails, and the ends of the last ones are told.',
    channels: ['slack', 'email'],
    steps: [
      ...at('0:00', fails(one)),
      ...at('8:00', acknowledges(one)),
      ...each({ from: '20:00', every: '20:00', count: 2 }, (place) => fails(operation(`op-${place + 1}`))),
      ...each({ from: '30:00', every: '20:00', count: 2 }, (place) => finishes(operation(`op-${place + 1}`))),
      ...at('60:00', ...[4, 5].map((number) => fails(operation(`op-${number}`)))),
      ...at('70:00', finishes(one)),
      ...at('80:00', ...[4, 5].map((number) => finishes(operation(`op-${number}`)))),
    ],
    until: '3:00:00',
  },
  {
    name: 'withdrawn-goes-on',
    says: 'What failed in silence after an acknowledgement is told within a day once the acknowledgement is withdrawn, also where nothing was told before.',
    channels: ['email'],
    steps: [
      ...at('0:00', stalls(till, 6)),
      ...at('2:00', fails(one)),
      ...at('5:00', acknowledges(one)),
      ...at('20:00', fails(operation('op-4'))),
      ...at('30:00', finishes(one)),
      ...at('50:00', withdraws(one)),
    ],
    isLong: true,
    until: '25:00:00',
  },
  {
    name: 'acknowledged-in-silence',
    says: 'Two critical failures join the message that rang without a ring; one is acknowledged, one is muted, and neither rings later.',
    channels: ['slack'],
    steps: [
      ...at('0:00', givesUp(operation('op-1'))),
      ...at(
        '2:00',
        givesUp(operation('op-2', { project: 'till' })),
        givesUp(operation('op-3', { project: 'bench' })),
      ),
      ...at(
        '5:00',
        acknowledges({ project: 'till', action: 'start_compute' }, 'on it'),
        mutes('the project bench', { project_id: 'bench', minutes: 60 }),
      ),
    ],
    until: '30:00',
  },
  {
    name: 'acknowledged-stall',
    says: 'A stall is worse than the failure that was acknowledged, so it is told.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one)),
      ...at('10:00', stalls(operation('op-4'), 6)),
    ],
    until: '20:00',
  },
  {
    name: 'worse-while-unrecorded',
    says: 'What is worse than what was acknowledged is told even while the table refuses to record it.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one)),
      ...at(
        '9:00',
        happens('the table refuses the records of incidents', (world) =>
          world.refuseWrites((update) => update.set?.['kind'] === 'incident'),
        ),
      ),
      ...at('10:00', fails(one, 2), fails(one, 3)),
      ...at(
        '15:00',
        happens('the table takes everything again', (world) => world.refuseWrites(undefined)),
      ),
    ],
    until: '25:00',
  },
  {
    name: 'begun-again-while-unrecorded',
    says: 'An acknowledgement ends with its incident, so the next failure is told even while the table refuses to record it.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one)),
      ...at('5:00', finishes(one)),
      ...at(
        '9:00',
        happens('the table refuses the records of incidents', (world) =>
          world.refuseWrites((update) => update.set?.['kind'] === 'incident'),
        ),
      ),
      ...at('10:00', fails(operation('op-4'))),
      ...at(
        '15:00',
        happens('the table takes everything again', (world) => world.refuseWrites(undefined)),
      ),
    ],
    until: '25:00',
  },
  {
    name: 'acknowledgement-withdrawn',
    says: 'After an acknowledgement is withdrawn the next failure is told again.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one)),
      ...at('2:00', acknowledges(one)),
      ...at('20:00', withdraws(one)),
      ...at('25:00', fails(operation('op-4'))),
    ],
    until: '40:00',
  },
  {
    name: 'acknowledged-for-a-day',
    says: 'What is acknowledged is not repeated after a day.',
    policy: AT_ONCE,
    channels: ['email', 'pagerduty'],
    steps: [...at('0:00', fails(one), fails(till)), ...at('2:00', acknowledges(one))],
    isLong: true,
    until: '24:30:00',
  },
  {
    name: 'acknowledged-given-up',
    says: 'The acknowledgement of what was given up ends its incident, and the next failure is a new one.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', givesUp(one)),
      ...at('10:00', acknowledges(one)),
      ...at('20:00', fails(operation('op-4'))),
    ],
    until: '30:00',
  },
  {
    name: 'acknowledged-while-gathered',
    says: 'What is being gathered when a person acknowledges it wakes nobody, and stands in the digest.',
    steps: [...at('0:00', stalls(till, 6)), ...at('2:00', stalls(one, 6)), ...at('5:00', acknowledges(one))],
    untold: { 'op-1 on slack': 'acknowledged', 'op-1 on email': 'acknowledged' },
    until: '1:20:00',
  },
  {
    name: 'pressed-on-slack',
    says: 'Buttons pressed under a message on Slack acknowledge its incident and mute it, and the message says so within a minute.',
    isWhole: true,
    policy: AT_ONCE,
    channels: ['slack', 'pagerduty'],
    steps: [
      ...at(
        '0:00',
        happens('Slack shows the buttons only of a bot', () => {}),
        fails(one, 3),
      ),
      ...at('2:10', pressed('acknowledge')),
      ...at('10:00', pressed('mute_1h')),
      ...at('30:00', runs(one, 3), finishes(one)),
    ],
    until: '1:15:00',
  },
  {
    name: 'list-is-answered',
    says: 'Three failures are one message; a person acknowledges all of them there, what is worse is shown to the whole channel, and the ends go into its thread.',
    isWhole: true,
    channels: ['slack'],
    steps: [
      ...at(
        '0:00',
        fails(one),
        fails(operation('op-2', { project: 'till' })),
        fails(operation('op-3', { project: 'bench' })),
      ),
      ...at('10:00', pressed('acknowledge')),
      ...at('20:00', givesUp(operation('op-3', { project: 'bench' }))),
      ...at('25:00', finishes(one, { failures_count: 1 })),
    ],
    until: '30:00',
  },
  {
    name: 'list-is-edited',
    says: 'What follows of thirty incidents changes their list, at most every ten seconds; once Slack takes no edit, it stands in the thread.',
    isWhole: true,
    channels: ['slack'],
    steps: [
      ...each({ from: '0:00', every: '0:01', count: 30 }, (place) =>
        fails(listed(place), 1, { error: TROUBLE }),
      ),
      ...each({ from: '12:00', every: '0:04', count: 6 }, (place) => finishes(listed(place))),
      ...at('16:00', fails(listed(7), 2, { error: TROUBLE })),
      ...each({ from: '50:00', every: '0:02', count: 21 }, (place) => finishes(listed(8 + place))),
      ...at(
        '55:00',
        happens('Slack takes no edits', ({ channels }) => channels.slack.refuseEdits('no_permission')),
      ),
      ...at('56:00', finishes(listed(7))),
      ...at('57:00', fails(listed(8), 3, { error: TROUBLE })),
    ],
    until: '1:05:00',
  },
  {
    name: 'many-edits',
    says: 'A mute of the account brings the messages of twenty-five incidents up to date, twenty in each sweep.',
    policy: AT_ONCE,
    channels: ['slack'],
    steps: [
      ...each({ from: '0:00', every: '0:15', count: 25 }, (place) =>
        fails(operation(`op-${place}`, { project: `project-${place}` }), 3),
      ),
      ...at('10:00', mutes('everything', { minutes: 60 })),
    ],
    until: '14:00',
  },
];

/** Presses a button under the first message, where Slack is used by a bot. */
function pressed(button: string) {
  return happens(`marta presses ${button} under #1`, async ({ channels, people }) => {
    const message = channels.slack.message(1);
    const hasButtons = JSON.stringify(message?.body ?? {}).includes('"actions"');
    if (message !== undefined && hasButtons) await people().press(button, message.body);
    else if (button === 'acknowledge') await people().acknowledge(one);
    else await people().mute({ incident_id: await people().incidentIdOf(one), minutes: 60 });
  });
}

export const people: readonly Script[] = [...policies, ...muted, ...cared];
