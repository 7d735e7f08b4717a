/** Decides to which hosts the keys of accounts may be sent that are added while the bridge runs. */

import type { BridgeConfig } from './bridge-config.ts';

/**
 * Returns the configured hosts, or the addresses of the configured accounts when none are, of which the functions take
 * the hosts.
 */
export function upstreamHostsOf({
  upstream_hosts,
  accounts,
}: Pick<BridgeConfig, 'upstream_hosts' | 'accounts'>): readonly string[] {
  return [...new Set(upstream_hosts ?? accounts.map(({ upstream_base_url }) => upstream_base_url))];
}
