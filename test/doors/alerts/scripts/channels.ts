/** Scripts of channels that fail, are slow, are full, refuse a message, or lose their answers. */

import { CHANNELS, type ChannelName } from '../channels.ts';
import {
  accountDegrades,
  at,
  channel,
  each,
  fails,
  finishes,
  givesUp,
  happens,
  operation,
  type Script,
  stalls,
} from '../script.ts';

const one = operation('op-1');
const till = operation('op-2', { project: 'till' });
const AT_ONCE = { gather_seconds: 0, patience_seconds: 0 };
/** The stand-ins' secrets have these ids. */
const SECRETS = ['a-secret-of-slack', 'a-secret-of-pagerduty', 'a-secret-of-webhook'];

const OWN_PROJECT = (number: number) => operation(`op-${number}`, { project: `project-${number}` });

const all = (mood: Parameters<typeof channel>[1]) => CHANNELS.map((name) => channel(name, mood));

function downForAnHour(name: ChannelName): Script {
  return {
    name: `${name}-down-for-an-hour`,
    says: `While ${name} is down for an hour it is tried again ever more rarely, the others report it, and then it gets everything.`,
    late: 'The channel is down.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', channel(name, { kind: 'fails', status: 503 })),
      ...at('1:00', givesUp(one)),
      ...at('20:00', fails(till)),
      ...at('40:00', finishes(till)),
      ...at('1:00:00', channel(name, { kind: 'works' })),
    ],
    until: '1:20:00',
  };
}

export const failing: readonly Script[] = [
  {
    name: 'each-fails-once',
    says: 'Every channel fails once: each is asked again by the next sweep, and tells the alert once.',
    policy: AT_ONCE,
    steps: at('0:00', ...all({ kind: 'fails', status: 500, times: 1 }), givesUp(one)),
    until: '5:00',
  },
  {
    name: 'fails-and-is-asked-again',
    says: 'A channel that failed is free again after its rest of five seconds: the next event brings both alerts.',
    policy: AT_ONCE,
    steps: [
      ...at('0:35', ...all({ kind: 'fails', status: 500, times: 1 }), givesUp(one)),
      ...at('0:38', givesUp(OWN_PROJECT(4))),
      ...at('0:42', givesUp(till)),
    ],
    until: '5:00',
  },
  downForAnHour('slack'),
  downForAnHour('email'),
  downForAnHour('pagerduty'),
  downForAnHour('webhook'),
  {
    name: 'slack-says-something-else',
    says: 'Slack answers 200 and does not say that it took the message, so the bridge sends the message again.',
    policy: AT_ONCE,
    channels: ['slack'],
    steps: at('0:00', channel('slack', { kind: 'fails', status: 200, times: 1 }), givesUp(one)),
    until: '10:00',
  },
  {
    name: 'down-for-ever',
    says: 'A channel that is down for ever delays no other channel, is reported as deaf once, and raises the metric of its alarm.',
    policy: AT_ONCE,
    untold: { 'op-1 on slack': 'It is down.', 'op-2 on slack': 'It is down.' },
    steps: [
      ...at('0:00', channel('slack', { kind: 'fails', status: 404 }), givesUp(one)),
      ...at('2:00:00', givesUp(till)),
    ],
    until: '3:00:00',
  },
  {
    name: 'all-are-down',
    says: 'While every channel is down for half an hour nothing is lost, and every channel then tells all of it.',
    late: 'All channels are down.',
    steps: [
      ...at('0:00', ...all({ kind: 'fails', status: 500 })),
      ...at('1:00', givesUp(one), accountDegrades()),
      ...at('10:00', stalls(till, 6)),
      ...at('30:00', ...all({ kind: 'works' })),
    ],
    until: '1:20:00',
  },
  {
    name: 'slow',
    says: 'Channels that answer after twelve seconds take every message once.',
    late: 'The channel takes twelve seconds for each answer.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', ...all({ kind: 'slow', seconds: 12 })),
      ...at('1:00', givesUp(one)),
      ...at('1:05', givesUp(till)),
      ...at('1:20', givesUp(OWN_PROJECT(3))),
    ],
    until: '10:00',
  },
  {
    name: 'hangs',
    says: 'A channel that does not answer is given up after its time, costs the others nothing, and is asked again.',
    late: 'The channel does not answer.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', ...all({ kind: 'hangs' })),
      ...at('1:00', givesUp(one)),
      ...at('4:00', channel('webhook', { kind: 'works' })),
      ...at('6:00', ...all({ kind: 'works' })),
    ],
    until: '20:00',
  },
  {
    name: 'retry-after',
    says: 'A channel that asks for a pause of ninety seconds gets it; one that asks for a day is asked again after five minutes.',
    late: 'The channel asks for a pause.',
    policy: AT_ONCE,
    steps: [
      ...at(
        '0:00',
        channel('slack', { kind: 'fails', status: 429, retryAfter: '90', times: 1 }),
        channel('pagerduty', { kind: 'fails', status: 429, retryAfter: '86400', times: 1 }),
        channel('webhook', { kind: 'fails', status: 429, retryAfter: 'soon', times: 1 }),
        givesUp(one),
      ),
      ...at('0:40', givesUp(till)),
    ],
    until: '12:00',
  },
  {
    name: 'poison-in-a-digest',
    says: 'A message that a channel refuses comes again in halves, until the alert at fault is alone and is kept.',
    late: 'The channel refuses a message, which is sent in halves.',
    untold: {
      'op-3 on slack': 'Slack refuses it.',
      'op-3 on pagerduty': 'PagerDuty refuses it.',
      'op-3 on webhook': 'The receiver refuses it.',
    },
    steps: [
      ...at(
        '0:00',
        channel('slack', { kind: 'refuses', naming: 'op-3' }),
        channel('pagerduty', { kind: 'refuses', naming: 'op-3' }),
        channel('webhook', { kind: 'refuses', naming: 'op-3' }),
        ...[1, 2, 3, 4, 5].map((number) => fails(operation(`op-${number}`), 3)),
      ),
      ...at('8:00', fails(operation('op-6', { project: 'till' }), 3)),
    ],
    until: '40:00',
  },
  {
    name: 'poison-alone',
    says: 'An alert that a channel refuses for good is kept and counted, and the next alert is told.',
    policy: AT_ONCE,
    untold: { 'op-1 on slack': 'Slack refuses it.', 'op-1 on webhook': 'The receiver refuses it.' },
    steps: [
      ...at(
        '0:00',
        channel('slack', { kind: 'refuses', naming: 'op-1' }),
        channel('webhook', { kind: 'refuses', naming: 'op-1' }),
        givesUp(one),
      ),
      ...at('1:00', givesUp(till)),
    ],
    until: '10:00',
  },
  {
    name: 'blocks-are-refused',
    says: 'When Slack refuses the blocks of a message, the plain text tells the same.',
    channels: ['slack'],
    policy: AT_ONCE,
    steps: at(
      '0:00',
      channel('slack', { kind: 'refuses', naming: 'op-', onlyBlocks: true }),
      givesUp(one),
      fails(till, 3),
    ),
    until: '5:00',
  },
  {
    name: 'lost-answers',
    says: 'A message whose answer is lost is sent again as it was: PagerDuty and the webhook recognise the copy.',
    policy: AT_ONCE,
    copiesMax: 1,
    steps: [
      ...at('0:00', ...all({ kind: 'loses answers', times: 1 }), givesUp(one)),
      ...at('0:20', fails(till, 3)),
    ],
    until: '10:00',
  },
  {
    name: 'answers-stay-lost',
    says: 'A message of unknown outcome is repeated three times as it was, and then planned anew with what came in since.',
    late: 'The answers of the channel are lost.',
    channels: ['slack', 'webhook'],
    policy: AT_ONCE,
    copiesMax: 5,
    steps: [
      ...at(
        '0:00',
        channel('slack', { kind: 'loses answers', times: 4 }),
        channel('webhook', { kind: 'loses answers', times: 4 }),
        fails(one),
      ),
      ...at('0:01', givesUp(till)),
    ],
    until: '15:00',
  },
  {
    name: 'message-is-deleted',
    says: 'A person deletes the message of an incident on Slack: what follows is told all the same.',
    channels: ['slack'],
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one)),
      ...at(
        '1:00',
        happens('a person deletes #1', ({ channels }) => channels.slack.remove(1)),
      ),
      ...at('2:00', fails(one, 3)),
      ...at('10:00', finishes(one)),
    ],
    until: '20:00',
  },
  {
    name: 'wrong-secrets',
    says: 'Channels with secrets that their services do not know keep their alerts until the secrets are right.',
    late: 'Channels without a valid secret take nothing.',
    policy: AT_ONCE,
    hasWrongSecret: true,
    steps: [
      ...at(
        '0:00',
        happens('the secrets of PagerDuty, Slack and the webhook are wrong', ({ secrets }) => {
          for (const id of SECRETS) {
            secrets.set(`right ${id}`, secrets.get(id) ?? '');
            secrets.set(id, id.endsWith('pagerduty') ? 'f'.repeat(32) : 'not a secret');
          }
        }),
        givesUp(one),
      ),
      ...at(
        '15:00',
        happens('the secrets are right', ({ secrets }) => {
          for (const id of SECRETS) secrets.set(id, secrets.get(`right ${id}`) ?? '');
        }),
      ),
    ],
    until: '30:00',
  },
  {
    name: 'threads-of-slack',
    says: 'What an open thread gets is not gathered, and a failure after its end begins another message.',
    channels: ['slack'],
    steps: [
      ...at('0:00', stalls(one, 6)),
      ...at('3:00', fails(operation('op-4'), 3)),
      ...at('20:00', finishes(one, { was_stalled: true }), finishes(operation('op-4'))),
      ...at('50:00', fails(operation('op-5'), 3)),
    ],
    until: '1:00:00',
  },
  {
    name: 'slack-alone',
    says: 'A bridge with a single channel has nobody to report its deafness to but the alarm.',
    late: 'The channel is down.',
    channels: ['slack'],
    policy: AT_ONCE,
    steps: [
      ...at('0:00', channel('slack', { kind: 'fails', status: 500 }), givesUp(one)),
      ...at('15:00', channel('slack', { kind: 'works' })),
    ],
    until: '25:00',
  },
  {
    name: 'deaf-twice',
    says: 'A channel that is deaf, works again and is deaf once more is reported each time.',
    late: 'The channel is down.',
    channels: ['email', 'webhook'],
    policy: AT_ONCE,
    steps: [
      ...each({ from: '0:00', every: '1:00:00', count: 2 }, (place) => [
        channel('webhook', { kind: 'fails', status: 500 }),
        givesUp(OWN_PROJECT(place)),
      ]),
      ...each({ from: '30:00', every: '1:00:00', count: 2 }, () => channel('webhook', { kind: 'works' })),
    ],
    until: '1:50:00',
  },
];
