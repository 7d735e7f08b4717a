/**
 * Opens the upstream of a local run, a simulated one in this process or a real account, and checks that it answers.
 */

import type { Clock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { createUpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { isUpstreamError, pathFault, type UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { UsageError } from '../process/command.ts';
import { isSystemError, reasonOf } from '../process/operating-system.ts';
import { type LocalUpstream, startUpstream, type UpstreamOptions } from '../simulator/start-upstream.ts';
import type { DataFolder } from './data-folder.ts';
import type { UpstreamPort } from './kept-files.ts';
import { type StartOptions, simulatedName } from './start-options.ts';

export interface Upstream extends AsyncDisposable {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly label: string;
  /** Its key is no secret, because it follows from the seed. */
  readonly isSimulated: boolean;
}

/** A visitor can follow a status that changes every few seconds. */
const CALM_SESSIONS_PER_HOUR = 6;

/** Throws a `UsageError` when the simulated upstream cannot have the port that the folder remembers. */
export async function openUpstream(
  { upstream }: StartOptions,
  { originMs, upstreamPort }: DataFolder,
  clock: Clock,
): Promise<Upstream> {
  if (upstream.kind === 'real') {
    const { baseUrl, apiKey } = upstream;
    return {
      baseUrl,
      apiKey,
      label: 'real account',
      isSimulated: false,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const { seed, projectCount, trouble } = upstream;
  const apiKey = `simulated-key-${seed}`;
  // The world starts at the run's origin and not now, so a restart finds the same world some time later.
  const life =
    trouble === undefined
      ? { trouble: 0, hasStory: true, sessionsPerHour: CALM_SESSIONS_PER_HOUR }
      : { trouble, hasBudget: true };
  const world = { seed, projectCount, ...life, apiKeys: [apiKey], startAtMs: originMs, clock };
  const local = await startAt(upstreamPort, world);
  return {
    baseUrl: local.baseUrl,
    apiKey,
    label: simulatedName(upstream),
    isSimulated: true,
    [Symbol.asyncDispose]: () => local.close(),
  };
}

/** A restart finds the upstream at the port of the first run. */
async function startAt(kept: UpstreamPort | undefined, world: UpstreamOptions): Promise<LocalUpstream> {
  if (kept?.known !== undefined)
    return startUpstream({ ...world, port: kept.known }).catch((error: unknown) => {
      throw isSystemError(error) ? kept.refusal(reasonOf(error)) : error;
    });
  const local = await startUpstream(world);
  kept?.keep(Number(new URL(local.baseUrl).port));
  return local;
}

export interface ProbeSurroundings {
  readonly clock: Clock;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A person who waits longer without a message believes that the program hangs. */
const SAY_SO_AFTER_MS = 10_000;

/**
 * Two attempts of ten seconds and a third fit into this time. A server that is silent for longer is not the service.
 */
const PROBE_MS_MAX = 30_000;

/**
 * Runs before everything else, so that a wrong URL or key causes one sentence and not a log full of failures. Returns
 * early when `signal` aborts.
 */
export async function probeUpstream(
  { baseUrl, apiKey }: Pick<Upstream, 'baseUrl' | 'apiKey'>,
  { clock, print, signal }: ProbeSurroundings,
): Promise<void> {
  const answered = new AbortController();
  const givenUp = new AbortController();
  const after = (durationMs: number, act: () => void) =>
    void clock.sleep(durationMs, answered.signal).then(act, () => {});
  after(SAY_SO_AFTER_MS, () =>
    print(
      `The upstream at ${baseUrl} has not answered for ${SAY_SO_AFTER_MS / 1_000} seconds; waiting until ${PROBE_MS_MAX / 1_000} have passed (Ctrl-C ends it now).`,
    ),
  );
  after(PROBE_MS_MAX, () => givenUp.abort());
  try {
    await askOnce({ baseUrl, apiKey }, clock, AbortSignal.any([signal, givenUp.signal]));
  } catch (error) {
    if (signal.aborted) return;
    if (!isUpstreamError(error)) throw error;
    throw new UsageError(
      `The upstream at ${baseUrl} cannot be used (${whatHappened(error, givenUp.signal)}); ${adviceOn(error, baseUrl)}.`,
      { cause: error },
    );
  } finally {
    answered.abort();
  }
}

async function askOnce(
  { baseUrl, apiKey }: Pick<Upstream, 'baseUrl' | 'apiKey'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const secret = createSecret(apiKey);
  const key = { current: async () => secret, refresh: async () => secret };
  const budget = createRequestBudget({ clock, requestsPerMinute: 60, burst: 5 });
  const client = createUpstreamClient({ baseUrl, apiKey: key, clock, random: systemRandom, budget });
  await client.listProjects({ limit: 1 }, { signal });
}

function whatHappened(error: UpstreamError, givenUp: AbortSignal): string {
  return givenUp.aborted ? `no answer for ${PROBE_MS_MAX / 1_000} seconds` : error.message;
}

function adviceOn({ kind, status }: UpstreamError, baseUrl: string): string {
  const fault = status === undefined ? undefined : pathFault(baseUrl);
  if (fault !== undefined) return fault;
  return kind === 'unauthorized' ? 'check UPSTREAM_API_KEY' : 'check the URL and the network';
}
