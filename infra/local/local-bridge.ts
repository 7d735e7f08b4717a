/** Wires the bridge to its stand-ins: upstream, local AWS, table, bus, secret, schedule and terminal. */

import type { PollLaneRequest } from '../../shared/config/poller-config.ts';
import { EVENT_SOURCE, TEST_EVENT_SOURCE } from '../../shared/events/event-names.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createClosingStack } from '../process/closing-stack.ts';
import { scaledClock } from '../process/surroundings.ts';
import { restoreKeys } from './account-keys.ts';
import type { DeliveredEvent } from './aws/event-bridge/deliveries.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { type FromWorker, type PollerLambdaOptions, runPollerLambda } from './aws/local-lambda.ts';
import { openBridgeAws } from './bridge-aws.ts';
import {
  ACCOUNT_ID,
  EVENT_BUS_NAME,
  KEY_SECRET_ID,
  RULE_OWNER,
  TABLE_NAME,
  UPSTREAM_KEYS_PREFIX,
} from './bridge-names.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { createDropReports, createEventLines, type LineStyle, paint } from './event-lines.ts';
import { commandEnvironment, issueToken, type LocalApi, openBridgeApi } from './local-api.ts';
import { setUpSignIn } from './local-sign-in.ts';
import { openUpstream, probeUpstream, type Upstream } from './local-upstream.ts';
import {
  type ChannelSecrets,
  type LocalCommands,
  type LocalNotifier,
  startLocalCommands,
  startLocalNotifier,
} from './queue-functions.ts';
import {
  createProgress,
  createRunSummary,
  headerLines,
  type RunFigures,
  type RunSummary,
} from './run-report.ts';
import type { StartOptions } from './start-options.ts';

export interface Surroundings {
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly style: LineStyle;
  readonly clock: Clock;
  /** These are the secrets of alert channels. A channel whose secret is set really gets the alerts. */
  readonly channelSecrets?: ChannelSecrets;
  /** Is called once, when the API answers. */
  readonly onReady?: (addresses: LocalAddresses) => void;
  /** A program reads what happens instead of a person: `print` gets only what is out of order. */
  readonly facts?: RunFacts | undefined;
}

/** Takes what a run shows, as data. */
interface RunFacts {
  event(event: DeliveredEvent): void;
  end(figures: RunFigures): void;
}

/** Where programs of this machine find the run. */
interface LocalAddresses {
  /** The origin of the API, as `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly token: string;
  readonly awsEndpoint: string;
  readonly accessKeyId: string;
  readonly upstreamBaseUrl: string;
}

/** The parts of one run need these of each other. */
interface Run {
  readonly options: StartOptions;
  readonly surroundings: Surroundings;
  readonly folder: DataFolder;
  /** This clock shows simulated time. */
  readonly clock: Clock;
  readonly summary: RunSummary;
}

/**
 * Runs the bridge. It closes everything that was opened in the opposite order, also when the start fails half-way.
 */
export async function runLocalBridge(options: StartOptions, surroundings: Surroundings): Promise<void> {
  const { print, clock: realClock } = surroundings;
  const startedMs = realClock.now();
  const summary = createRunSummary();
  {
    await using folder = await openDataFolder(options, surroundings);
    const clock = scaledClock(options.speed, folder.originMs, realClock);
    await runIn({ options, surroundings, folder, clock, summary });
  }
  const elapsedMs = (realClock.now() - startedMs) * options.speed;
  if (surroundings.facts !== undefined) return surroundings.facts.end(summary.figures(elapsedMs));
  print('');
  for (const line of summary.lines(elapsedMs)) print(line);
  if (options.dataDir !== undefined) print(`state, events and the poller's log are in ${options.dataDir}`);
}

async function runIn(run: Run): Promise<void> {
  const { options, surroundings, folder, clock } = run;
  await using stack = createClosingStack();
  const upstream = stack.use(await openUpstream(options, folder, clock));
  await probeUpstream(upstream, surroundings);
  if (surroundings.signal.aborted) return;
  const onDropped = createDropReports((line) => surroundings.print(paint('red', line, surroundings.style)));
  const aws = await openBridgeAws({ port: options.port, folder, apiKey: upstream.apiKey, clock, onDropped });
  stack.defer(() => aws.close());
  watchEvents(aws, run);
  const notes = options.dataDir === undefined ? [] : await restoreKeys(aws, upstream);
  const commands = startCommands(run, aws, upstream);
  stack.defer(() => commands.close());
  const { channelSecrets = {} } = surroundings;
  const signIn = options.signIn && setUpSignIn(options.signIn, aws);
  const api = await openBridgeApi({
    options,
    folder,
    baseUrl: upstream.baseUrl,
    aws,
    channelSecrets,
    signIn,
  });
  stack.defer(() => api.close());
  const token = await issueToken(aws, folder.pepper, clock);
  const notifier = startNotifier(run, aws, api);
  stack.defer(() => notifier.close());
  // The notifier waits for all deliveries, and a server that subscribes may be gone by now.
  stack.defer(async () => aws.endSubscriptions());
  // The API closes before the notifier, because its last events may be alerts.
  stack.defer(() => api.close());
  if (surroundings.facts === undefined)
    for (const line of headerLines({ options, upstream, aws, api, token, signInHost: signIn?.host, notes }))
      surroundings.print(line);
  else for (const line of notes) surroundings.print(line);
  const { endpoint: awsEndpoint, credentials } = aws;
  const { accessKeyId } = credentials;
  surroundings.onReady?.({
    url: api.origin,
    token,
    awsEndpoint,
    accessKeyId,
    upstreamBaseUrl: upstream.baseUrl,
  });
  await runPollerLambda(pollerOf(run, aws, upstream), surroundings.signal);
}

function startCommands(
  { options, surroundings, folder, clock }: Run,
  aws: LocalAws,
  { baseUrl }: Upstream,
): LocalCommands {
  const { print, style } = surroundings;
  aws.tasks.onEnd = (end) => {
    if (surroundings.facts !== undefined) return;
    print(`step functions: a waiting task ended with ${JSON.stringify(end)}`);
  };
  return startLocalCommands({
    aws,
    busName: EVENT_BUS_NAME,
    clock,
    speed: options.speed,
    originMs: folder.originMs,
    environment: { ...commandEnvironment({ aws, baseUrl, options }), POWERTOOLS_SERVICE_NAME: 'commands' },
    onFailure: (sentence) => print(paint('red', `commands: ${sentence}`, style)),
    onLogLine: (line) => folder.keepLogLine(line),
  });
}

function startNotifier(
  { options, surroundings, folder, clock }: Run,
  aws: LocalAws,
  api: LocalApi,
): LocalNotifier {
  const { print, style, channelSecrets = {} } = surroundings;
  return startLocalNotifier({
    aws,
    tableName: TABLE_NAME,
    busName: EVENT_BUS_NAME,
    consoleBaseUrl: options.publicUrl ?? api.origin,
    speed: options.speed,
    originMs: folder.originMs,
    onLogLine: (line) => folder.keepLogLine(line),
    clock,
    dataDir: options.dataDir,
    channelSecrets,
    print,
    style,
  });
}

function pollerOf(run: Run, aws: LocalAws, upstream: Upstream): PollerLambdaOptions {
  const { options, surroundings, folder, clock, summary } = run;
  const progress = createProgress(surroundings);
  const account = {
    account_id: ACCOUNT_ID,
    upstream_base_url: upstream.baseUrl,
    key_secret_id: KEY_SECRET_ID,
    backfill: options.backfill,
    usage: { keeps_history: true },
  };
  const event: PollLaneRequest = { lane: 0, lanes: 1, shared_lanes: 1, accounts: [account] };
  return {
    speed: options.speed,
    originMs: folder.originMs,
    environment: {
      ...aws.environment,
      TABLE_NAME,
      EVENT_BUS_NAME,
      UPSTREAM_HOSTS: JSON.stringify([new URL(upstream.baseUrl).host]),
      UPSTREAM_KEYS_PREFIX,
      POWERTOOLS_SERVICE_NAME: 'poller',
    },
    event,
    clock,
    onLogLine(line) {
      folder.keepLogLine(line);
      summary.noteLogLine(line);
      progress(line);
    },
    onResult: (result) => reportResult(result, surroundings),
  };
}

function watchEvents(aws: LocalAws, { summary, surroundings, options }: Run): void {
  const linesOf = createEventLines(surroundings.style, options.backfill === 'all');
  const show = (event: DeliveredEvent, mark = '') => {
    if (surroundings.facts !== undefined) return surroundings.facts.event(event);
    for (const line of linesOf(event)) surroundings.print(`${line}${mark}`);
  };
  aws.bus.putRule({
    name: 'terminal',
    busName: EVENT_BUS_NAME,
    pattern: { source: [EVENT_SOURCE] },
    managedBy: RULE_OWNER,
    targets: [
      (event) => {
        summary.noteEvent(event);
        show(event);
      },
    ],
  });
  aws.bus.putRule({
    name: 'terminal-test-events',
    busName: EVENT_BUS_NAME,
    pattern: { source: [TEST_EVENT_SOURCE] },
    managedBy: RULE_OWNER,
    targets: [(event) => show(event, '  test event')],
  });
}

function reportResult(result: FromWorker, { print, style }: Surroundings): void {
  if (result.kind === 'failed') print(paint('red', `poller: the invocation failed: ${result.reason}`, style));
}
