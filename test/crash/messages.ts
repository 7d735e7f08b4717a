/** Defines the messages between the crash test and its upstream. */

import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';

export interface UpstreamSettings {
  readonly seed: number;
  readonly projectCount: number;
  readonly apiKey: string;
  readonly sessionsPerHour: number;
  readonly historyMs: number;
}

export type FromUpstream =
  | { readonly kind: 'ready'; readonly baseUrl: string }
  | { readonly kind: 'truth'; readonly truth: readonly GroundTruthOperation[] };
