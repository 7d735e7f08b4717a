/** Sends commands through the bridge and asks for fresh readings, as the API does for its callers. */

import { createFairShare } from '../../../../shared/commands/fair-share.ts';
import { createEventBridgeBus } from '../../../../shared/events/event-bus.ts';
import { recordCommand } from '../../../../shared/protocol/record-command.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import { createSecretKeySource } from '../../../../shared/runtime/secret-key-source.ts';
import { silentTelemetry } from '../../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../../shared/store/bridge-store.ts';
import { createLedgerStore } from '../../../../shared/store/ledger-store.ts';
import type { Table } from '../../../../shared/store/table.ts';
import { createNudge, nudgingTable } from '../../../../shared/store/wishes.ts';
import { computeCalls } from '../../../../shared/upstream/calls/computes.ts';
import { operationSchema, parseRows } from '../../../../shared/upstream/calls/schemas.ts';
import { forward } from '../../../../shared/upstream/forward.ts';
import type { RequestBudget } from '../../../../shared/upstream/request-budget.ts';
import { createUpstreamClient, depsOf } from '../../../../shared/upstream/upstream-client.ts';
import type { Process } from '../../scheduler.ts';
import { createBusClient } from '../cloud/bus.ts';
import { rateOf, secretsClient } from '../cloud/poller.ts';
import { createSlowTable } from '../cloud/table.ts';
import { ACCOUNT_ID, type SentCommand, type Stage } from '../stage.ts';
import { START_MS } from '../timeline.ts';
import type { TruthProject } from '../upstream/truth.ts';
import { UPSTREAM_URL } from '../upstream/virtual-upstream.ts';

export const SETTLE_WITHIN_MS = 90_000;

/** All commands leave through one instance of the API, which shares the rate limit with the poller. */
export async function sendCommands(stage: Stage): Promise<void> {
  const { world, timeline, upstream } = stage;
  const { plan, scheduler, random } = world;
  if (plan.commandRequestsPerMinute === 0) return;
  const everyone: Process = { name: 'api', isCrashed: false, clockSkewMs: 0, crashKind: 'never' };
  const budget = commandBudget(stage, everyone);
  for (const project of upstream.truth.projects) void useNewcomer(stage, project, budget);
  const untilMs = timeline.calm.fromMs + 60_000;
  for (let count = 0; scheduler.now() < untilMs; count++) {
    const [shortestMs, longestMs] = plan.commandEveryMs;
    await scheduler.delay(undefined, shortestMs + random.next() * (longestMs - shortestMs));
    const phase = timeline.phases.find(({ toMs }) => scheduler.now() < toMs);
    if (phase === undefined || phase.name === 'gap') {
      await scheduler.delay(undefined, (phase?.toMs ?? 0) - scheduler.now());
      continue;
    }
    const process = commandSender(stage, `api-${count}`);
    if (random.next() < 0.25) void askForReading(stage, process);
    else void sendOne(stage, process, budget, undefined);
  }
}

/** People use a project as soon as they see it, often before the bridge has read the list that shows it. */
const NEWCOMER_USED_WITHIN_MS = 3_000;

async function useNewcomer(
  stage: Stage,
  { id, visible }: TruthProject,
  budget: RequestBudget,
): Promise<void> {
  const { scheduler, random } = stage.world;
  const fromMs = visible[0]?.fromMs ?? 0;
  if (fromMs <= START_MS) return;
  await scheduler.delay(undefined, fromMs + random.next() * NEWCOMER_USED_WITHIN_MS - scheduler.now());
  await sendOne(stage, commandSender(stage, `api-of-${id}`), budget, id);
}

function commandSender({ processes }: Stage, name: string): Process {
  const process: Process = {
    name,
    isCrashed: false,
    clockSkewMs: 0,
    crashKind: 'command_sender_crashed',
  };
  processes.add(process);
  return process;
}

/** A request waits until it has a permit. */
function commandBudget(stage: Stage, owner: Process): RequestBudget {
  const { scheduler, random, plan } = stage.world;
  const clock = scheduler.clockOf(owner);
  const share = createFairShare({
    clock,
    random,
    rate: rateOf(plan),
    store: createLedgerStore(tableOf(stage, owner), ACCOUNT_ID),
    telemetry: silentTelemetry,
    instancesMax: 1,
  });
  return {
    ...share.budget,
    async take(signal) {
      for (;;) {
        const delayMs = await share.admit('deployer', { forMs: 0, signal });
        if (delayMs === 0) return share.budget.take();
        await clock.sleep(delayMs, signal);
      }
    },
  };
}

async function askForReading(stage: Stage, process: Process): Promise<void> {
  const { world, upstream } = stage;
  const table = tableOf(stage, process);
  const store = createBridgeStore(table, ACCOUNT_ID, world.scheduler.clockOf(process));
  const { projects } = upstream.truth;
  // With many projects, one that is seldom read shows whether the request is served.
  const place = projects.length < MANY_PROJECTS ? 0 : stage.processes.size % projects.length;
  const projectId = projects[place]?.id ?? '';
  world.fire('read_requested');
  world.note(process.name, 'asks for a reading', projectId);
  const isTaken = await store.wishForReading(projectId, 0).then(
    () => true,
    () => false,
  );
  if (isTaken) stage.wishes.push({ projectId, atMs: world.scheduler.now() });
}

const MANY_PROJECTS = 10;

/** What a command leaves for the poller nudges the account, as it does in the API. */
function tableOf({ world, tableSide, ear }: Stage, process: Process): Table {
  const table = createSlowTable(world, tableSide, { owner: process, role: 'api' });
  const nudge = createNudge(table, world.scheduler.clockOf(process));
  const telemetry = ear.telemetryOf(process.name);
  return { ...table, ...nudgingTable(table, nudge, telemetry) };
}

/** Sends to a random project when none is named. */
async function sendOne(
  stage: Stage,
  process: Process,
  budget: RequestBudget,
  projectId: string | undefined,
): Promise<void> {
  const { world, upstream, ear } = stage;
  const { random, scheduler } = world;
  const clock = scheduler.clockOf(process);
  const table = tableOf(stage, process);
  const options = {
    baseUrl: UPSTREAM_URL,
    apiKey: createSecretKeySource(secretsClient(stage, process), 'upstream-key', clock),
    clock,
    random,
    budget,
    send: upstream.sendOf(process, true),
  };
  const { projects } = upstream.truth;
  const project_id = projectId ?? projects[Math.floor(random.next() * projects.length)]?.id ?? '';
  const request_id = `request-${process.name}`;
  try {
    const ids = { project_id, endpoint_id: 'ep-quiet-pond-1' };
    const answer = await forward(
      depsOf(options),
      computeCalls.restartEndpoint,
      { ids },
      { patienceMs: 5_000 },
    );
    if (answer.status !== 200) return;
    const body = JSON.parse(new TextDecoder().decode(answer.body)) as { operations: unknown[] };
    const { rows } = parseRows(body.operations, operationSchema(project_id));
    const sent: SentCommand = {
      requestId: request_id,
      projectId: project_id,
      operationIds: rows.map(({ id }) => id),
      sentAtMs: scheduler.now(),
      isRecorded: false,
    };
    stage.commands.push(sent);
    world.fire('command_sent');
    const deps = {
      accountId: ACCOUNT_ID,
      upstream: createUpstreamClient(options),
      store: createBridgeStore(table, ACCOUNT_ID, clock),
      bus: createEventBridgeBus(createBusClient(world, stage.bus, process), 'bus', clock),
      clock,
      telemetry: ear.telemetryOf(process.name),
      settleWithinMs: SETTLE_WITHIN_MS,
    };
    const command = { project_id, request_id, client_id: 'deployer', call: 'restartEndpoint' };
    await recordCommand(deps, command, rows);
    sent.isRecorded = true;
  } catch (error) {
    world.note(process.name, 'the command failed', toError(error).message);
  }
}
