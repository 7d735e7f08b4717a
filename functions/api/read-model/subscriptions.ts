/**
 * Says of each rule of the bus whether its subscriber gets its events, from what AWS says of it. The API, the console and the
 * command `doctor` all say what stands here. A reading is kept for a minute.
 */

import * as z from 'zod';
import type { Caller } from '../../../shared/callers/scopes.ts';
import { HOUR_MS, isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { explainedEnum } from './bus-log.ts';
import type { BusReader, BusReading, QueueReading, RuleReading } from './bus-reader.ts';

/** Every reading costs a figure of CloudWatch for each rule and kind, and EventBridge sends them once a minute. */
export const READING_KEPT_MS = MINUTE_MS;

/** A rule that gave up nothing for this time delivers again. */
const TROUBLE_MS = HOUR_MS;

const verdictSchema = explainedEnum({
  failing: 'gives up deliveries, or dead letters wait',
  repeating: 'deliveries are repeated',
  without_target: 'delivers to nothing',
  disabled: 'is switched off',
  unknown: 'is not known',
  quiet: 'had no event in 24 hours',
  delivers: 'delivers',
});

type Verdict = z.output<typeof verdictSchema>;

const target = z.object({
  id: z.string(),
  arn: z.string(),
  dead_letter_queue: z
    .object({
      arn: z.string(),
      message_count: z.number().optional().describe('Absent when the bridge cannot see the queue.'),
      unseen: z.string().optional().describe('Why the number is not known.'),
    })
    .optional()
    .describe('Absent when what the target does not take is lost.'),
});

const rule = z.object({
  name: z.string(),
  description: z.string().optional(),
  managed_by: z.string().optional().describe('The service that owns the rule.'),
  verdict: verdictSchema,
  reasons: z.array(z.string()).describe('Sentences that say why the verdict is not `delivers`.'),
  advice: z.string().optional(),
  pattern: z.record(z.string(), z.unknown()),
  targets: z.array(target).optional().describe('Absent when they could not be read.'),
  figures: z
    .object({
      invoked_count: z.number(),
      failed_count: z.number().describe('Given up for good.'),
      dead_letter_count: z.number().describe('Sent to the dead-letter queue.'),
      lost_count: z.number().describe('Not taken by the dead-letter queue either.'),
      repeated_count: z.number(),
      throttled_count: z.number(),
      last_failed_at: z.string().optional().describe('A delivery was given up within 15 minutes after it.'),
    })
    .optional()
    .describe(
      "EventBridge's own figures of the last 24 hours. They are not exact, and a minute or two late.",
    ),
});

export const subscriptionsAnswer = z.object({
  bus: z.string(),
  read_at: z.string(),
  rules: z.array(rule),
  further_rule_count: z.number().describe('The bus has so many further rules, which were not looked at.'),
  faults: z.array(z.string()).describe('What could not be read.'),
});

export type SubscriptionsAnswer = z.output<typeof subscriptionsAnswer>;
export type ShownRule = z.output<typeof rule>;

/** Reads the bus at most once a minute, however many people look. */
export function keptForAMinute(read: BusReader['read'], clock: Clock): BusReader['read'] {
  let kept: { readonly atMs: number; readonly reading: Promise<BusReading> } | undefined;
  return () => {
    const nowMs = clock.now();
    if (kept === undefined || nowMs - kept.atMs >= READING_KEPT_MS || nowMs < kept.atMs)
      kept = { atMs: nowMs, reading: read() };
    return kept.reading;
  };
}

/**
 * Rules belong to the bus and not to an account. A caller sees all of them when the bridge serves one account, or with
 * `accounts:read`, and otherwise those whose pattern names the own account alone.
 */
export function isRuleVisibleTo(caller: Caller, isOnlyAccount: boolean) {
  const { account_id } = caller;
  return ({ pattern }: RuleReading): boolean => {
    if (seesAllRules(caller, isOnlyAccount)) return true;
    const accounts: unknown = Object(pattern['detail'])['account_id'];
    return Array.isArray(accounts) && accounts.length === 1 && accounts[0] === account_id;
  };
}

/** Says so without a reading, in which a rule can be missing for a minute. */
export function seesAllRules({ scopes }: Caller, isOnlyAccount: boolean): boolean {
  return isOnlyAccount || scopes.has('accounts:read');
}

export function subscriptionsOf(
  bus: string,
  reading: BusReading,
  isVisible: (rule: RuleReading) => boolean,
): SubscriptionsAnswer {
  const { readAtMs, rules, furtherRuleCount, faults } = reading;
  return {
    bus,
    read_at: isoTimeOf(readAtMs),
    rules: rules
      .filter(isVisible)
      .map((each) => shownRule(each, reading))
      .toSorted(
        (one, other) =>
          verdictSchema.options.indexOf(one.verdict) - verdictSchema.options.indexOf(other.verdict),
      ),
    further_rule_count: furtherRuleCount,
    faults: [...faults],
  };
}

function shownRule(reading: RuleReading, { queues, readAtMs }: BusReading): ShownRule {
  const { name, description, managedBy, pattern, figures } = reading;
  const { last_failed_at, ...counts } = figures ?? {};
  return {
    name,
    ...(description !== undefined && { description }),
    ...(managedBy !== undefined && { managed_by: managedBy }),
    ...judge(reading, queues, readAtMs),
    pattern: { ...pattern },
    ...(reading.targets && {
      targets: reading.targets.map(({ id, arn, deadLetterArn }) => ({
        id,
        arn,
        ...(deadLetterArn !== undefined && { dead_letter_queue: shownQueue(deadLetterArn, queues) }),
      })),
    }),
    ...(figures !== undefined && {
      figures: {
        ...(counts as Omit<typeof figures, 'last_failed_at'>),
        ...(last_failed_at && { last_failed_at }),
      },
    }),
  };
}

function shownQueue(arn: string, queues: BusReading['queues']) {
  const reading = queues.get(arn) ?? { unseen: 'not visible from here' };
  return 'unseen' in reading ? { arn, ...reading } : { arn, message_count: reading.messageCount };
}

interface Judgement {
  readonly verdict: Verdict;
  readonly reasons: string[];
  readonly advice?: string;
}

function judge(reading: RuleReading, queues: ReadonlyMap<string, QueueReading>, nowMs: number): Judgement {
  const { isEnabled, managedBy, targets, figures } = reading;
  if (!isEnabled)
    return { verdict: 'disabled', reasons: ['The rule is disabled, so its subscriber gets nothing.'] };
  const troubles = [...deadLettersIn(reading, queues), ...failuresIn(reading, nowMs)];
  if (troubles.length > 0) return { verdict: 'failing', reasons: troubles, advice: LOOK_AT_THE_TARGET };
  if (managedBy === undefined && targets === undefined)
    return { verdict: 'unknown', reasons: ['What the rule delivers to could not be read.'] };
  if (managedBy === undefined && targets?.length === 0)
    return {
      verdict: 'without_target',
      reasons: ['The rule has no target, so its subscriber gets nothing.'],
      advice: 'Add a target, or delete the rule.',
    };
  if (figures === undefined)
    return { verdict: 'unknown', reasons: ['What the rule was sent and failed could not be read.'] };
  const { repeated_count, throttled_count, invoked_count } = figures;
  if (repeated_count + throttled_count > invoked_count / 10)
    return {
      verdict: 'repeating',
      reasons: [
        `In 24 hours EventBridge repeated ${repeated_count} deliveries, and held ${throttled_count} back for its own limits.`,
      ],
      advice: 'Look whether the target is up, and whether it takes events this fast.',
    };
  if (invoked_count === 0) return { verdict: 'quiet', reasons: ['No event matched the rule in 24 hours.'] };
  return { verdict: 'delivers', reasons: [] };
}

const LOOK_AT_THE_TARGET =
  'Look at ERROR_CODE and ERROR_MESSAGE of a message in the dead-letter queue: they name what the target or its policy refuses. Then mend it, and send the events again with "operations-bridge replay".';

function deadLettersIn({ targets = [] }: RuleReading, queues: ReadonlyMap<string, QueueReading>): string[] {
  return [...new Set(targets.flatMap(({ deadLetterArn = [] }) => deadLetterArn))].flatMap((arn) => {
    const queue = queues.get(arn);
    const count = queue !== undefined && 'messageCount' in queue ? queue.messageCount : 0;
    if (count === 0) return [];
    return [`The dead-letter queue ${arn.split(':').at(-1)} has ${counted(count, 'message')}.`];
  });
}

function failuresIn({ targets, figures }: RuleReading, nowMs: number): string[] {
  const lastMs = Date.parse(figures?.last_failed_at ?? '');
  if (figures === undefined || Number.isNaN(lastMs) || nowMs - lastMs > TROUBLE_MS) return [];
  const { failed_count, dead_letter_count, lost_count } = figures;
  const given = `In 24 hours EventBridge gave up ${counted(Math.max(failed_count, dead_letter_count), 'delivery', 'deliveries')}`;
  if (targets === undefined) return [`${given}.`];
  if (targets.every(({ deadLetterArn }) => deadLetterArn === undefined))
    return [`${given}, which are lost, because no target has a dead-letter queue.`];
  const lost =
    lost_count === 0 ? '' : `, and ${lost_count} of them are lost, because that queue refused them`;
  return [`${given}; ${dead_letter_count} went to the dead-letter queue${lost}.`];
}
