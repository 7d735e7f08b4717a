/**
 * Describes one compute: its settings, its connections, and its state as time passes. The states of a compute or a
 * branch are phases in the order of time.
 */

import type { Random } from '../../../shared/runtime/random.ts';
import { drawEndpointId } from './names.ts';
import type { ComputeSize } from './offer.ts';

type ComputeStateName = 'init' | 'active' | 'idle';

export type ComputePhase = Phase<ComputeStateName>;

export interface ActiveSpan {
  readonly endpointId: string;
  readonly branchId: string;
  readonly fromMs: number;
  /** The compute is used until this time, which may be ahead. */
  usedUntilMs: number;
  /** The compute suspends at this time; activity puts it off. */
  untilMs: number;
}

/** A compute runs on one of these (public contract). */
export const PROVISIONERS = ['k8s-neonvm', 'k8s-pod'] as const;

export interface ComputeSettings {
  readonly type: 'read_write' | 'read_only';
  readonly size: ComputeSize;
  /** 0 stands for the default of five minutes, and -1 for never. */
  readonly suspendTimeoutSeconds: number;
  readonly poolerEnabled: boolean;
  readonly disabled: boolean;
  readonly passwordlessAccess: boolean;
  readonly settings: object;
  readonly provisioner: (typeof PROVISIONERS)[number];
  readonly name?: string | undefined;
}

export interface Compute {
  branch_id: string;
  readonly endpoint_id: string;
  readonly createdAtMs: number;
  updatedAtMs: number;
  config: ComputeSettings;
  /** The operations on the compute have ended by then. Another one waits for them. */
  freeAtMs: number;
  /** This is undefined while the compute is suspended. */
  activeSpan: ActiveSpan | undefined;
  /** Phases are in the order of time. */
  readonly phases: ComputePhase[];
  connectionCount: number;
  /** These clients are connected to the pooler. */
  pooledConnectionCount: number;
}

/** A compute suspends after five minutes of inactivity (specification "Limits"). */
const SUSPEND_AFTER_DEFAULT_MS = 5 * 60_000;

export const DEFAULT_SETTINGS: ComputeSettings = {
  type: 'read_write',
  size: { minCu: 0.25, maxCu: 2 },
  suspendTimeoutSeconds: 0,
  poolerEnabled: false,
  disabled: false,
  passwordlessAccess: true,
  settings: {},
  // This provisioner is the one that scales, and every payload since 2024 shows it.
  provisioner: 'k8s-neonvm',
};

export function createCompute(
  random: Random,
  {
    branch_id,
    atMs,
    config = DEFAULT_SETTINGS,
  }: { branch_id: string; atMs: number; config?: ComputeSettings },
): Compute {
  return {
    branch_id,
    // Every compute gets a new id, so one that is deleted and added again has other connection details.
    endpoint_id: drawEndpointId(random),
    createdAtMs: atMs,
    updatedAtMs: atMs,
    config,
    freeAtMs: atMs,
    activeSpan: undefined,
    phases: [],
    connectionCount: 0,
    pooledConnectionCount: 0,
  };
}

export function phaseAt({ phases, createdAtMs }: Compute, nowMs: number): ComputePhase {
  return phases.findLast(({ atMs }) => atMs <= nowMs) ?? { atMs: createdAtMs, current: 'idle' };
}

/** Returns infinity when scale to zero is off. */
export function suspendAfterMs({ config }: Pick<Compute, 'config'>): number {
  const { suspendTimeoutSeconds } = config;
  if (suspendTimeoutSeconds === -1) return Number.POSITIVE_INFINITY;
  return suspendTimeoutSeconds === 0 ? SUSPEND_AFTER_DEFAULT_MS : suspendTimeoutSeconds * 1_000;
}

/**
 * A phase is a state from an instant on. Phases are drawn ahead with the operations that cause them, so they may lie in the
 * future.
 */
export interface Phase<State extends string> {
  readonly atMs: number;
  readonly current: State;
  readonly pending?: State;
}

interface HasPhases<State extends string> {
  readonly phases: Phase<State>[];
}

/** Drops what was planned after `atMs`, because a newer command replaces it. */
export function enterPhases<State extends string>(
  { phases }: HasPhases<State>,
  atMs: number,
  planned: readonly Phase<State>[],
): void {
  const kept = phases.filter((phase) => phase.atMs < atMs);
  phases.splice(0, phases.length, ...kept, ...planned);
}
