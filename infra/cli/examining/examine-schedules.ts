/** Examines the schedules that invoke the functions: does each exist, and is it enabled? */

import {
  GetScheduleCommand,
  ListSchedulesCommand,
  type SchedulerClient,
  type ScheduleSummary,
} from '@aws-sdk/client-scheduler';
import * as z from 'zod';
import { guarded } from './aws-error.ts';
import { type Finding, notChecked, ok, problem } from './finding.ts';

export interface ExaminedSchedules {
  readonly findings: readonly Finding[];
  /** What the schedules of the lanes say of each configured account, by its id. */
  readonly pollPayloads: ReadonlyMap<string, object>;
  /** The ARN of a function, from which those of the topics follow. */
  readonly functionArn: string | undefined;
}

/** A hundred lanes take one page, and each of them a question of its own. */
const PAGES_MAX = 10;

/** What runs once for the whole bridge. */
const SWEEPS = ['commands-sweep', 'alerts-sweep', 'canary'];

/** Never rejects because of what it finds. */
export async function examineSchedules(
  scheduler: Pick<SchedulerClient, 'send'>,
  name: string,
): Promise<ExaminedSchedules> {
  const schedules = await guarded('schedules', () => listSchedules(scheduler, `${name}-`));
  if ('verdict' in schedules)
    return { findings: [schedules], pollPayloads: new Map(), functionArn: undefined };
  const polls = schedules.filter((schedule) => schedule.Name?.startsWith(`${name}-lane-`));
  const payloads = await Promise.all(polls.map((poll) => payloadOf(scheduler, poll)));
  return {
    findings: [...judgeSchedules(name, schedules, polls), ...payloads.filter(isFinding)],
    pollPayloads: new Map(payloads.flatMap((each) => (isFinding(each) ? [] : each))),
    functionArn: polls[0]?.Target?.Arn,
  };
}

async function listSchedules(
  scheduler: Pick<SchedulerClient, 'send'>,
  NamePrefix: string,
): Promise<readonly ScheduleSummary[]> {
  const found: ScheduleSummary[] = [];
  let NextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await scheduler.send(new ListSchedulesCommand({ NamePrefix, NextToken }));
    found.push(...(answer.Schedules ?? []));
    NextToken = answer.NextToken;
    if (NextToken === undefined) return found;
  }
  throw new Error(`there are more than ${found.length} schedules`);
}

function judgeSchedules(
  name: string,
  all: readonly ScheduleSummary[],
  polls: readonly ScheduleSummary[],
): readonly Finding[] {
  const names = new Set(all.map((schedule) => schedule.Name));
  const missing = SWEEPS.map((sweep) => `${name}-${sweep}`).filter((each) => !names.has(each));
  const disabled = all.filter(({ State }) => State !== 'ENABLED').map((schedule) => schedule.Name ?? '');
  const findings = [
    ...(polls.length === 0
      ? [problem('schedules', `No schedule ${name}-lane-... invokes the poller.`, DEPLOY)]
      : []),
    ...missing.map((each) => problem('schedules', `The schedule ${each} does not exist.`, DEPLOY)),
    ...disabled.map((each) =>
      problem(
        'schedules',
        `The schedule ${each} is disabled.`,
        'Enable it (aws scheduler), or deploy again.',
      ),
    ),
  ];
  return findings.length > 0 ? findings : [ok('schedules', `All ${all.length} schedules are enabled.`)];
}

const DEPLOY = 'Deploy the stack, or check --name and the region.';

const lanePayload = z.looseObject({ accounts: z.array(z.looseObject({ account_id: z.string() })) });

/** Returns the settings of the accounts in the payload, with their ids. */
async function payloadOf(
  scheduler: Pick<SchedulerClient, 'send'>,
  { Name, GroupName }: ScheduleSummary,
): Promise<readonly AccountPayload[] | Finding> {
  const check = `schedule ${Name}`;
  return guarded(check, async () => {
    const { Target } = await scheduler.send(new GetScheduleCommand({ Name, GroupName }));
    const payload = lanePayload.safeParse(JSON.parse(Target?.Input ?? 'null')).data;
    if (payload === undefined)
      return notChecked(check, 'Its payload names no lane.', 'Deploy the stack again.');
    return payload.accounts.map((account) => [account.account_id, account] as const);
  });
}

type AccountPayload = readonly [string, object];

function isFinding(value: readonly AccountPayload[] | Finding): value is Finding {
  return 'verdict' in value;
}
