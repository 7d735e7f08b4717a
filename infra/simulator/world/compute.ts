/** One compute: its settings, its connections, and its state as time passes. */

import type { Random } from '../../../shared/runtime/random.ts';
import type { ComputeSize } from './compute-size.ts';
import { drawEndpointId } from './names.ts';

export type ComputeStateName = 'init' | 'active' | 'idle';

/** A state from an instant on. Drawn ahead like the operations that bring it about, so it may lie in the future. */
export interface ComputePhase {
  readonly atMs: number;
  readonly current: ComputeStateName;
  readonly pending?: ComputeStateName;
}

export interface ActiveSpan {
  readonly fromMs: number;
  /** When the compute suspends; activity puts it off. */
  untilMs: number;
}

export interface ComputeSettings {
  readonly type: 'read_write' | 'read_only';
  readonly size: ComputeSize;
  /** 0: the default of five minutes. -1: never. */
  readonly suspendTimeoutSeconds: number;
  readonly poolerEnabled: boolean;
  readonly disabled: boolean;
  readonly passwordlessAccess: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly name?: string | undefined;
}

export interface Compute {
  branch_id: string;
  readonly endpoint_id: string;
  readonly createdAtMs: number;
  updatedAtMs: number;
  config: ComputeSettings;
  /** Of its branch. */
  isArchived: boolean;
  /** Undefined while suspended. */
  activeSpan: ActiveSpan | undefined;
  /** In order. */
  readonly phases: ComputePhase[];
  connectionCount: number;
}

/** Specification "Limits": five minutes of inactivity. */
const SUSPEND_AFTER_DEFAULT_MS = 5 * 60_000;

export const DEFAULT_SETTINGS: ComputeSettings = {
  type: 'read_write',
  size: { minCu: 0.25, maxCu: 2 },
  suspendTimeoutSeconds: 0,
  poolerEnabled: false,
  disabled: false,
  passwordlessAccess: true,
  settings: {},
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
    // A new id with every compute: one that is deleted and added again has other connection details.
    endpoint_id: drawEndpointId(random),
    createdAtMs: atMs,
    updatedAtMs: atMs,
    config,
    isArchived: false,
    activeSpan: undefined,
    phases: [],
    connectionCount: 0,
  };
}

export function phaseAt({ phases, createdAtMs }: Compute, nowMs: number): ComputePhase {
  return phases.findLast(({ atMs }) => atMs <= nowMs) ?? { atMs: createdAtMs, current: 'idle' };
}

/** What is planned after `atMs` will not happen: a newer act took its place. */
export function enterPhases(compute: Compute, atMs: number, phases: readonly ComputePhase[]): void {
  const kept = compute.phases.filter((phase) => phase.atMs < atMs);
  compute.phases.splice(0, compute.phases.length, ...kept, ...phases);
}

/** Infinite when scale to zero is off. */
export function suspendAfterMs({ config }: Compute): number {
  const { suspendTimeoutSeconds } = config;
  if (suspendTimeoutSeconds === -1) return Number.POSITIVE_INFINITY;
  return suspendTimeoutSeconds === 0 ? SUSPEND_AFTER_DEFAULT_MS : suspendTimeoutSeconds * 1_000;
}
