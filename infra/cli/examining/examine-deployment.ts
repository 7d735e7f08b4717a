/** Examines what only a deployment on AWS has: schedules, functions with roles, and the topic of the alarms. */

import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { SchedulerClient } from '@aws-sdk/client-scheduler';
import type { SNSClient } from '@aws-sdk/client-sns';
import type { SelfTestReport } from '../../../shared/self-test/self-test.ts';
import { examineFunction, type FunctionTest, judgeServedAccounts } from './examine-functions.ts';
import { examineSchedules } from './examine-schedules.ts';
import { examineTopic } from './examine-topic.ts';
import { type Finding, notChecked } from './finding.ts';

export interface DeploymentClients {
  readonly lambda: Pick<LambdaClient, 'send'>;
  readonly scheduler: Pick<SchedulerClient, 'send'>;
  readonly sns: Pick<SNSClient, 'send'>;
}

/** Each account takes a second. Those behind the bound are named as not checked. */
const ACCOUNTS_MAX = 50;

/** `name` is that of the bridge in its configuration. Never rejects because of what it finds. */
export async function examineDeployment(
  { lambda, scheduler, sns }: DeploymentClients,
  name: string,
): Promise<readonly Finding[]> {
  const { findings, pollPayloads, functionArn } = await examineSchedules(scheduler, name);
  const all = [...findings];
  const reports: SelfTestReport[] = [];
  for (const test of testsOf(name, [...pollPayloads])) {
    const { findings: ofFunction, report } = await examineFunction(lambda, test);
    all.push(...ofFunction);
    if (report !== undefined) reports.push(report);
  }
  all.push(...judgeServedAccounts(reports));
  if (pollPayloads.size > ACCOUNTS_MAX)
    all.push(
      notChecked(
        'function poller',
        `${pollPayloads.size - ACCOUNTS_MAX} of ${pollPayloads.size} accounts were left out.`,
        `Look at their health: doctor tries the poller for ${ACCOUNTS_MAX} accounts.`,
      ),
    );
  return [...all, await alarmsFinding(sns, name, functionArn)];
}

function testsOf(name: string, payloads: readonly (readonly [string, object])[]): readonly FunctionTest[] {
  const polls = payloads.slice(0, ACCOUNTS_MAX).map(([accountId, payload]) => ({
    functionName: `${name}-poller`,
    payload,
    subject: `poller, account ${accountId}`,
  }));
  const others = ['api', 'commands', 'notifier'].map((each) => ({
    functionName: `${name}-${each}`,
    payload: {},
    subject: each,
  }));
  const anyPoll =
    polls.length > 0 ? polls : [{ functionName: `${name}-poller`, payload: {}, subject: 'poller' }];
  return [...anyPoll, ...others];
}

/** The topic is in the region and the AWS account of the functions. */
async function alarmsFinding(
  sns: DeploymentClients['sns'],
  name: string,
  functionArn: string | undefined,
): Promise<Finding> {
  const [arn, partition, , region, account] = functionArn?.split(':') ?? [];
  if (account === undefined)
    return notChecked(
      'alarms',
      'The topic of the alarms is not known without the schedules.',
      'Use credentials that may list schedules, and check --name and the region.',
    );
  return examineTopic(sns, 'alarms', [arn, partition, 'sns', region, account, `${name}-alarms`].join(':'));
}
