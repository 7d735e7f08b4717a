/** Decides to which hosts the keys of accounts may be sent that are added while the bridge runs. */

import type { BridgeConfig } from './bridge-config.ts';

/** Returns the configured hosts, or those of the configured accounts when none are. */
export function upstreamHostsOf({
  upstream_hosts,
  accounts,
}: Pick<BridgeConfig, 'upstream_hosts' | 'accounts'>): readonly string[] {
  const hosts = upstream_hosts ?? accounts.map(({ upstream_base_url }) => new URL(upstream_base_url).host);
  return [...new Set(hosts)];
}
