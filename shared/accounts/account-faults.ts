/**
 * Decides whether an account that was added while the bridge runs keeps to what the deployment allows: its key comes
 * from the secrets of upstream keys alone, and goes to known hosts alone.
 */

import type { AccountRules } from '../config/account-rules.ts';
import { upstreamBaseUrl } from '../config/upstream-base-url.ts';
import type { AccountSettings } from './account-settings.ts';

export interface AccountFault {
  readonly field: 'upstream_base_url' | 'key_secret_id' | 'command_key_secret_id';
  readonly reason: string;
}

type Guarded = Pick<AccountSettings, 'upstream_base_url' | 'key_secret_id' | 'command_key_secret_id'>;

/** Returns everything that speaks against the account, and an empty list when nothing does. */
export function accountFaults(account: Guarded, rules: AccountRules): readonly AccountFault[] {
  const faults: AccountFault[] = [];
  const hostFault = upstreamFault(account.upstream_base_url, rules.upstreamHosts);
  if (hostFault !== undefined) faults.push({ field: 'upstream_base_url', reason: hostFault });
  for (const field of ['key_secret_id', 'command_key_secret_id'] as const) {
    const secretId = account[field];
    if (secretId === undefined || isKeySecret(secretId, rules.keySecretPrefix)) continue;
    const reason = `must be the name of a secret that begins with ${rules.keySecretPrefix}, where nothing but upstream keys is kept`;
    faults.push({ field, reason });
  }
  return faults;
}

/** Returns what is wrong with the address, or undefined when the key may be sent there. */
function upstreamFault(text: string, hosts: readonly string[]): string | undefined {
  const parsed = upstreamBaseUrl.safeParse(text);
  if (!parsed.success) return parsed.error.issues[0]?.message ?? 'must be an address';
  const url = new URL(text);
  // A text that the parser would rewrite, such as another spelling of a host, is not what a person has read.
  if (!isPlain(text, url)) return `must be written plainly, as ${url.protocol}//${url.host}/api/v2`;
  if (hosts.includes(url.host)) return undefined;
  return `must have one of the hosts that the deployment allows (upstream_hosts): ${hosts.join(', ')}`;
}

function isPlain(text: string, { protocol, host, pathname }: URL): boolean {
  return `${protocol}//${host}${pathname}` === text && /^[\w./-]*$/.test(pathname);
}

/** A name has no wildcard and no way up, and an ARN does not begin with the prefix. */
function isKeySecret(secretId: string, prefix: string): boolean {
  return secretId.startsWith(prefix) && /^[\w/+=.@-]{1,200}$/.test(secretId.slice(prefix.length));
}
