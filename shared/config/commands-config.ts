/** The environment of the worker that sends queued commands, which its deployment fills in, and what is read from it. */

import * as z from 'zod';
import { parseJson } from '../runtime/foreign-text.ts';
import { readConfig } from '../runtime/read-config.ts';
import { accountRulesVariables } from './account-rules.ts';
import { type ApiAccount, apiAccounts, optionSwitch, sendingInstancesMax } from './api-config.ts';

export const commandsEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  /** JSON of `apiAccounts`, as the API has it. */
  ACCOUNTS: z.string().min(2),
  SENDING_INSTANCES_MAX: sendingInstancesMax,
  ...accountRulesVariables,
  /** Name or ARN of the secret that keys the seals of queued requests and their answers. */
  QUEUE_KEY_SECRET_ID: z.string().min(1),
  /** The FIFO queue that wakes the worker. */
  COMMANDS_QUEUE_URL: z.url(),
  CALLBACKS: optionSwitch,
  POWERTOOLS_SERVICE_NAME: z.string().default('commands'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type CommandsEnvironment = z.infer<typeof commandsEnvironment>;

/** Throws `AppError` `config_invalid`, which names what is wrong. */
export function readCommandAccounts({ ACCOUNTS }: CommandsEnvironment): readonly ApiAccount[] {
  return readConfig(apiAccounts, parseJson(ACCOUNTS), 'ACCOUNTS');
}
