/** Defines the alert policy of this bridge, whose routes may name this bridge's channels. */

import { CHANNEL_NAMES } from './channels/channels.ts';
import { alertPolicyFor } from './deciding/policy/alert-policy.ts';

export const alertPolicySchema = alertPolicyFor(CHANNEL_NAMES);
