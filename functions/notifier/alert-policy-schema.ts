/** The alert policy with the names of this bridge's channels in it. */

import { CHANNEL_NAMES } from './channels/channels.ts';
import { alertPolicyFor } from './deciding/alert-policy.ts';

export const alertPolicySchema = alertPolicyFor(CHANNEL_NAMES);
