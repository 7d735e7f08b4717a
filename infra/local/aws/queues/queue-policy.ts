/**
 * Decides whether the policy of a queue lets EventBridge send for a rule. Without such a policy AWS accepts the rule and
 * its target and delivers nothing (EventBridge User Guide, "Using resource-based policies").
 */

import { z } from 'zod';

const texts = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

const statement = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Principal: z.union([z.literal('*'), z.looseObject({ Service: texts.optional(), AWS: texts.optional() })]),
  Action: texts,
  Resource: texts,
  Condition: z.record(z.string(), z.record(z.string(), texts)).default({}),
});

const policy = z.object({
  Statement: z.union([statement, z.array(statement)]).transform((value) => [value].flat()),
});

type Statement = z.output<typeof statement>;

/** What a statement is compared with. */
interface Sending {
  readonly queueArn: string;
  readonly ruleArn: string;
}

const SENDER = 'events.amazonaws.com';
const ACTION = 'sqs:sendmessage';

/** A policy that cannot be read allows nothing. A condition that is not known here is not met. */
export function letsRuleSend(policyText: string | undefined, sending: Sending): boolean {
  if (policyText === undefined) return false;
  const { data } = policy.safeParse(JSON.parse(policyText));
  const applying = (data?.Statement ?? []).filter((each) => appliesTo(each, sending));
  return (
    applying.some(({ Effect }) => Effect === 'Allow') && !applying.some(({ Effect }) => Effect === 'Deny')
  );
}

function appliesTo({ Principal, Action, Resource, Condition }: Statement, sending: Sending): boolean {
  const services = Principal === '*' ? ['*'] : [...(Principal.Service ?? []), ...(Principal.AWS ?? [])];
  return (
    services.some((service) => service === SENDER || service === '*') &&
    Action.some((action) => matches(action.toLowerCase(), ACTION)) &&
    Resource.some((resource) => matches(resource, sending.queueArn)) &&
    Object.entries(Condition).every(([operator, keys]) => isMet(operator, keys, sending))
  );
}

const EXACT = ['StringEquals'];
const WITH_WILDCARDS = ['ArnEquals', 'ArnLike', 'StringLike'];

function isMet(
  operator: string,
  keys: Readonly<Record<string, readonly string[]>>,
  { ruleArn }: Sending,
): boolean {
  return Object.entries(keys).every(([key, expected]) => {
    const actual = { 'aws:sourcearn': ruleArn, 'aws:sourceaccount': ruleArn.split(':')[4] }[
      key.toLowerCase()
    ];
    if (actual === undefined) return false;
    if (EXACT.includes(operator)) return expected.includes(actual);
    return WITH_WILDCARDS.includes(operator) && expected.some((pattern) => matches(pattern, actual));
  });
}

/** An asterisk stands for any text, and a question mark for one character. */
function matches(pattern: string, text: string): boolean {
  const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}
