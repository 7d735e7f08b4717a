/** Lists each function's access to the table by the function's name, for the deployment and for the tests. */

import { apiAccess } from '../../../functions/api/access.ts';
import { commandsAccess } from '../../../functions/commands/access.ts';
import { notifierAccess } from '../../../functions/notifier/store/access.ts';
import { pollerAccess } from '../../../functions/poller/access.ts';

export const ACCESS = {
  poller: pollerAccess,
  api: apiAccess,
  notifier: notifierAccess,
  commands: commandsAccess,
} as const;

export type Role = keyof typeof ACCESS;
