/**
 * Names the secrets that hold upstream keys and nothing else, so that one permission covers the accounts that are added
 * while the bridge runs, and the hosts that their keys may be sent to.
 */

import { Aws } from 'aws-cdk-lib';
import type { accountRulesVariables } from '../../../shared/config/account-rules.ts';
import type { BridgeConfig } from '../../config/bridge-config.ts';
import { upstreamHostsOf } from '../../config/upstream-hosts.ts';

/** Returns what the names of the secrets begin with. */
function upstreamKeysPrefix({ name }: BridgeConfig): string {
  return `${name}/upstream-keys/`;
}

/** Returns the pattern of the ARNs of these secrets, in the region and the AWS account of the stack. */
export function upstreamKeysArn(config: BridgeConfig): string {
  return `arn:${Aws.PARTITION}:secretsmanager:${Aws.REGION}:${Aws.ACCOUNT_ID}:secret:${upstreamKeysPrefix(config)}*`;
}

/** Returns the variables of a function that serves accounts of the table. */
export function accountRulesEnvironment(
  config: BridgeConfig,
): Record<keyof typeof accountRulesVariables, string> {
  return {
    UPSTREAM_HOSTS: JSON.stringify(upstreamHostsOf(config)),
    UPSTREAM_KEYS_PREFIX: upstreamKeysPrefix(config),
  };
}
