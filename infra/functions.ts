/** Lists the functions of the bridge: entry file, memory, time-out, and the schema of the environment. */

import type * as z from 'zod';
import { commandsEnvironment, commandsSchedule } from '../functions/commands/invocation.ts';
import { notifierEnvironment, notifierSchedule } from '../functions/notifier/environment.ts';
import { apiEnvironment } from '../shared/config/api-config.ts';
import { pollerEnvironment, pollerSchedule } from '../shared/config/poller-config.ts';

export interface FunctionDefinition {
  readonly entry: string;
  readonly environment: z.ZodObject;
  /** These variables grow with the configuration, so they are in a file beside the code. */
  readonly filed: readonly string[];
  readonly memoryMb: number;
  readonly timeoutMs: number;
}

export const functionDefinitions = {
  poller: {
    entry: 'functions/poller/handler.ts',
    environment: pollerEnvironment,
    filed: ['UPSTREAM_HOSTS'],
    // A hundred projects need about 100 MB, and Lambda's runtime 25. A configuration for more projects takes more.
    memoryMb: 144,
    timeoutMs: pollerSchedule.timeoutMs,
  },
  api: {
    entry: 'functions/api/handler.ts',
    environment: apiEnvironment,
    filed: [
      'ACCOUNTS',
      'UPSTREAM_HOSTS',
      'EXTRA_ROUTES',
      'ALERT_CHANNELS',
      'DEAD_LETTER_QUEUES',
      'SIGN_IN',
      'PROJECT_LABELS',
    ],
    memoryMb: 512,
    // An HTTP API waits for 30 seconds at most.
    timeoutMs: 30_000,
  },
  commands: {
    entry: 'functions/commands/handler.ts',
    environment: commandsEnvironment,
    filed: ['ACCOUNTS', 'UPSTREAM_HOSTS'],
    memoryMb: 256,
    timeoutMs: commandsSchedule.timeoutMs,
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
