/** Examines a topic of SNS: does anything that is published there reach a person? */

import { ListSubscriptionsByTopicCommand, type SNSClient } from '@aws-sdk/client-sns';
import { guarded } from './aws-error.ts';
import { type Finding, ok, problem } from './finding.ts';

/** Never rejects because of what it finds. */
export function examineTopic(
  sns: Pick<SNSClient, 'send'>,
  check: string,
  topicArn: string,
): Promise<Finding> {
  return guarded(check, async () => judgeSubscriptions(check, await subscriptionsOf(sns, topicArn)));
}

/** One page has a hundred subscriptions, and more people are never paged by mail. */
async function subscriptionsOf(sns: Pick<SNSClient, 'send'>, topicArn: string): Promise<readonly string[]> {
  const { Subscriptions = [] } = await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }));
  return Subscriptions.map(({ SubscriptionArn = '' }) => SubscriptionArn);
}

/** SNS shows this in place of an ARN until the person has followed the link of its mail. */
const PENDING = 'PendingConfirmation';

function judgeSubscriptions(check: string, arns: readonly string[]): Finding {
  const pendingCount = arns.filter((arn) => arn === PENDING).length;
  if (arns.length === 0)
    return problem(
      check,
      'No address is subscribed, so what goes there reaches no one.',
      'Set alerts.emails and deploy, or subscribe another target to the topic.',
    );
  if (pendingCount > 0)
    return problem(
      check,
      `${pendingCount} of ${arns.length} addresses have not confirmed.`,
      'Ask these people to follow the link in the mail from AWS; after three days, deploy again.',
    );
  return ok(check, `${arns.length} addresses have confirmed.`);
}
