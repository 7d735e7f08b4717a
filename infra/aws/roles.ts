/** Each function's access, by its name: for what is deployed and for the tests, which know them all. */

import { apiAccess } from '../../functions/api/access.ts';
import { notifierAccess } from '../../functions/notifier/access.ts';
import { pollerAccess } from '../../functions/poller/access.ts';

export const ACCESS = { poller: pollerAccess, api: apiAccess, notifier: notifierAccess } as const;

export type Role = keyof typeof ACCESS;
