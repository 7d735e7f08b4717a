/** The functions of the bridge, once: where each begins, how large it is, how long it may run, what its environment must be. */

import type * as z from 'zod';
import { notifierEnvironment } from '../functions/notifier/environment.ts';
import { notifierSchedule } from '../functions/notifier/invocations.ts';
import { apiEnvironment } from '../shared/config/api-config.ts';
import { pollerEnvironment, pollerSchedule } from '../shared/config/poller-config.ts';

export interface FunctionDefinition {
  readonly entry: string;
  readonly environment: z.ZodObject;
  /** Variables that grow with the configuration: they stand in a file beside the code. */
  readonly filed: readonly string[];
  readonly memoryMb: number;
  readonly timeoutMs: number;
}

export const functionDefinitions = {
  poller: {
    entry: 'functions/poller/handler.ts',
    environment: pollerEnvironment,
    filed: [],
    // 5,000 projects and their memory need half of it; more memory is more CPU, which parsing uses.
    memoryMb: 256,
    timeoutMs: pollerSchedule.timeoutMs,
  },
  api: {
    entry: 'functions/api/handler.ts',
    environment: apiEnvironment,
    filed: ['ACCOUNTS', 'EXTRA_ROUTES', 'ALERT_CHANNELS'],
    memoryMb: 512,
    // An HTTP API gives up after 30 s.
    timeoutMs: 30_000,
  },
  notifier: {
    entry: 'functions/notifier/handler.ts',
    environment: notifierEnvironment,
    filed: ['ALERT_POLICY'],
    memoryMb: 256,
    timeoutMs: notifierSchedule.timeoutMs,
  },
} as const satisfies Readonly<Record<string, FunctionDefinition>>;

export type FunctionName = keyof typeof functionDefinitions;
