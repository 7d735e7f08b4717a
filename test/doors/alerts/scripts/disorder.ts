/** Scripts of events that come twice, in disorder, late, or in a form that this version does not know, and of the queue that hands them over. */

import {
  at,
  dies,
  each,
  fails,
  finishes,
  givesUp,
  happens,
  operation,
  repeats,
  type Script,
  stalls,
} from '../script.ts';

const one = operation('op-1');
const till = operation('op-2', { project: 'till' });
const AT_ONCE = { gather_seconds: 0, patience_seconds: 0 };

/** An event of a changed operation as another version could publish it. */
function foreign(words: string, id: string, fields: object, detailType = 'Operation State Changed') {
  return happens(words, ({ story, clock }) =>
    story.tell(detailType, {
      schema: 1,
      account_id: 'main',
      observed_at: new Date(clock.now()).toISOString(),
      project_id: 'shop',
      operation_id: id,
      action: 'start_compute',
      sequence: 1,
      previous_status: null,
      status: 'failed',
      terminal: false,
      failures_count: 3,
      new_failures: 3,
      operation_created_at: '2026-01-15T12:00:00Z',
      operation_updated_at: '2026-01-15T12:00:00Z',
      observed_by: 'poll',
      ...fields,
    }),
  );
}

const order: readonly Script[] = [
  {
    name: 'copies',
    says: 'Copies of an event are told once: in the same batch, after an hour, and after 39 days.',
    policy: AT_ONCE,
    channels: ['email', 'pagerduty', 'webhook'],
    steps: [
      ...at('0:00', givesUp(one), repeats(1)),
      ...at('1:00:00', repeats(1)),
      ...at(
        '1:10:00',
        happens('39 days pass, after which DynamoDB deletes what has expired', ({ memory, clock }) =>
          memory.sync.expire(clock.now() + 39 * 86_400_000),
        ),
      ),
      ...at('1:11:00', repeats(1)),
    ],
    until: '1:20:00',
  },
  {
    name: 'copy-while-waiting',
    says: 'A copy of a failure that waits for its five minutes makes it neither later nor told twice.',
    steps: [...at('0:00', fails(one)), ...at('4:00', repeats(1))],
    until: '25:00',
  },
  {
    name: 'end-before-failure',
    says: 'The end of an operation comes in before its failure: neither wakes anybody.',
    steps: [
      ...at('0:00', finishes(one, { sequence: 2, failures_count: 1 })),
      ...at('0:10', fails(one, 1, { sequence: 1, previous_status: null })),
    ],
    until: '1:10:00',
  },
  {
    name: 'late-failure',
    says: 'A critical failure that comes in after the end of its operation was told says that it has ended.',
    late: 'The operation has ended before its failure comes in.',
    isWhole: true,
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one, 1, { sequence: 1 })),
      ...at('10:00', finishes(one, { sequence: 3, failures_count: 3 })),
      ...at('20:00', fails(one, 3, { sequence: 2 })),
    ],
    until: '30:00',
  },
  {
    name: 'failures-in-disorder',
    says: 'The third failure comes in before the first two: a message shows how the operation stands by its sequence.',
    isWhole: true,
    channels: ['slack', 'email'],
    steps: [
      ...at(
        '0:00',
        fails(one, 3, { sequence: 3 }),
        fails(one, 1, { sequence: 1, new_failures: 1 }),
        fails(one, 2, { sequence: 2, new_failures: 1 }),
      ),
    ],
    until: '20:00',
  },
  {
    name: 'old-events',
    says: 'After an outage events come hours late: what has failed for hours is told as any other, and what ended in time is only counted.',
    steps: at(
      '3:00:00',
      fails(one, 1, {
        observed_at: '2026-01-15T12:10:00.000Z',
        operation_updated_at: '2026-01-15T12:10:00Z',
      }),
      fails(till, 1, {
        observed_at: '2026-01-15T12:20:00.000Z',
        operation_updated_at: '2026-01-15T12:20:00Z',
      }),
      finishes(till, {
        observed_at: '2026-01-15T12:22:00.000Z',
        operation_updated_at: '2026-01-15T12:22:00Z',
      }),
      fails(operation('op-3', { project: 'bench' }), 1, {
        observed_at: '2026-01-15T12:20:00.000Z',
        operation_updated_at: '2026-01-15T12:20:00Z',
      }),
      finishes(operation('op-3', { project: 'bench' }), {
        observed_at: '2026-01-15T12:40:00.000Z',
        operation_updated_at: '2026-01-15T12:40:00Z',
      }),
    ),
    until: '4:10:00',
  },
  {
    name: 'newer-schema',
    says: 'An event of a newer schema is told with what could be read of it, and is not kept as dead.',
    isWhole: true,
    channels: ['slack', 'email', 'pagerduty'],
    steps: [
      ...at(
        '0:00',
        foreign('op-1 has failed 3 times, by schema 2 with a new field', 'op-1', { schema: 2, mood: 'sad' }),
      ),
      ...at(
        '15:00',
        foreign('op-2 has failed, by schema 2 in which the counts are words', 'op-2', {
          schema: 2,
          failures_count: 'many',
        }),
      ),
    ],
    until: '30:00',
  },
  {
    name: 'unknown-values',
    says: 'Unknown statuses, actions and detail types are carried along; an event that breaks its schema is told and kept as dead.',
    isWhole: true,
    channels: ['email', 'webhook'],
    steps: [
      ...at('0:00', foreign('op-1 is paused after three failures', 'op-1', { status: 'paused' })),
      ...at('15:00', foreign('op-2 fails in an unknown action', 'op-2', { action: 'défragment shop\n' })),
      ...at('30:00', foreign('an event of an unknown type', 'op-3', {}, 'Operation Weathered')),
      ...at(
        '45:00',
        foreign('op-4 is given up without a number of failures', 'op-4', {
          status: 'error',
          failures_count: null,
        }),
      ),
    ],
    untold: { 'op-3': 'Its type is unknown to the rule.' },
    until: '1:30:00',
  },
  {
    name: 'hostile-texts',
    says: 'Texts from outside format nothing, mention nobody, link nowhere and spill no secret.',
    isWhole: true,
    policy: AT_ONCE,
    steps: at(
      '0:00',
      fails(operation('op-1', { project: '<!channel>', action: '`*start*` https://evil.example.com' }), 1, {
        error: 'postgres://user:pa55word@db.example.com/main refused\n<@U123> *bold* www.evil.example.com',
      }),
      // The text is cut for storing in the middle of the password, which then has no shape by which it is recognised.
      fails(till, 1, {
        error: `${'long '.repeat(115)}postgres://user:${'pa55word'.repeat(15)}@db.example.com/main`,
      }),
    ),
    until: '5:00',
  },
  {
    name: 'two-accounts',
    says: 'The same project and action in two accounts are two incidents.',
    policy: AT_ONCE,
    steps: [
      ...at('0:00', fails(one), fails(operation('op-2', { account: 'other' }))),
      ...at('10:00', finishes(one)),
    ],
    until: '20:00',
  },
];

/** Says that the write of a notice of this event is refused. */
const writesOf = (event: string) => (update: object) => JSON.stringify(update).includes(`"id":"${event}"`);

const queue: readonly Script[] = [
  {
    name: 'bad-record-in-a-batch',
    says: 'A record that is no event comes back five times and ends as dead, and the others of its batch are told at once.',
    policy: AT_ONCE,
    steps: at(
      '0:00',
      fails(one, 3),
      happens('a record without JSON', ({ enqueue }) => enqueue('no JSON')),
      happens('a record whose event has no id', ({ enqueue }) =>
        enqueue(JSON.stringify({ 'detail-type': 'Operation State Changed', detail: { status: 'failed' } })),
      ),
      fails(till, 3),
    ),
    until: '40:00',
  },
  {
    name: 'table-refuses-a-notice',
    says: 'A record whose notice the table refuses comes back after six minutes and is told then; the rest of the batch is not late.',
    late: 'The table refuses the notice.',
    policy: AT_ONCE,
    steps: [
      ...at(
        '0:00',
        happens('the table refuses what is about event-1', (world) =>
          world.refuseWrites(writesOf('event-1')),
        ),
        fails(one, 3),
        fails(till, 3),
      ),
      ...at(
        '3:00',
        happens('the table takes everything again', (world) => world.refuseWrites(undefined)),
      ),
    ],
    until: '15:00',
  },
  {
    name: 'table-refuses-for-an-hour',
    says: 'A record whose notice the table refuses for an hour is dead in the end, and does not get lost without a trace.',
    policy: AT_ONCE,
    untold: { 'op-1': 'It lies among the dead letters.' },
    steps: at(
      '0:00',
      happens('the table refuses what is about event-1', (world) => world.refuseWrites(writesOf('event-1'))),
      fails(one, 3),
      fails(till, 3),
    ),
    until: '1:00:00',
  },
  {
    name: 'dies-between-store-and-send',
    says: 'A process that ends after storing a notice and before sending it leaves it to the next sweep.',
    late: 'The process ends before it sends.',
    policy: AT_ONCE,
    steps: at(
      '0:00',
      dies('before its first request to a channel', {
        when: 'before',
        isAt: ({ channel }) => channel !== undefined,
      }),
      fails(one, 3),
    ),
    until: '12:00',
  },
  {
    name: 'dies-between-send-and-note',
    says: 'A process that ends after Slack took its message repeats at most that one message on each channel.',
    policy: AT_ONCE,
    copiesMax: 1,
    steps: at(
      '0:00',
      dies('after Slack took its message', { when: 'after', isAt: ({ channel }) => channel === 'slack' }),
      fails(one, 3),
    ),
    until: '12:00',
  },
  {
    name: 'eleven-records',
    says: 'More records than one batch are handed over together and told without loss.',
    steps: each({ from: '0:00', every: '0:01', count: 25 }, (place) =>
      stalls(operation(`op-${place}`, { project: `project-${place}` }), 6),
    ),
    until: '25:00',
  },
];

export const disorder: readonly Script[] = [...order, ...queue];
