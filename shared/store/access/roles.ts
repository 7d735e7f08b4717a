/** Each function's access, by its name: for what is deployed and for the tests, which know them all. */

import { apiAccess } from './api.ts';
import { notifierAccess } from './notifier.ts';
import { pollerAccess } from './poller.ts';

export const ACCESS = { poller: pollerAccess, api: apiAccess, notifier: notifierAccess } as const;

export type Role = keyof typeof ACCESS;
