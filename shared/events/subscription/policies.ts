/**
 * Writes the policies without which EventBridge accepts a rule and delivers nothing. `Reference` is whatever a form of
 * file uses for the ARN of a resource of the same file.
 */

const EVENTBRIDGE = { Service: 'events.amazonaws.com' };

type Policy<Reference> = Readonly<Record<string, Reference | object | string>>;

/** Lets only this rule send to the queue or topic (EventBridge User Guide, "Using resource-based policies"). */
export function deliveryPolicy<Reference>(delivery: {
  readonly action: 'sqs:SendMessage' | 'sns:Publish';
  readonly to: Reference;
  readonly from: Reference;
}): Policy<Reference> {
  const { action, to, from } = delivery;
  const statement = {
    Effect: 'Allow',
    Principal: EVENTBRIDGE,
    Action: action,
    Resource: to,
    Condition: { ArnEquals: { 'aws:SourceArn': from } },
  };
  return { Version: '2012-10-17', Statement: [statement] };
}

/**
 * Lets EventBridge use the role, for rules of this account only (IAM User Guide, "The confused deputy problem"). The
 * rule itself cannot be named, because it names the role.
 */
export function trustPolicy<Reference>(accountId: Reference): Policy<Reference> {
  const statement = {
    Effect: 'Allow',
    Principal: EVENTBRIDGE,
    Action: 'sts:AssumeRole',
    Condition: { StringEquals: { 'aws:SourceAccount': accountId } },
  };
  return { Version: '2012-10-17', Statement: [statement] };
}

/** Is the policy of that role. */
export function rolePolicy<Reference>(
  action: 'events:PutEvents' | 'events:InvokeApiDestination',
  resource: Reference,
): Policy<Reference> {
  return { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: action, Resource: resource }] };
}
