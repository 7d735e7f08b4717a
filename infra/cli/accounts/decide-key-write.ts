/** Decides what is written into a secret so that it holds the key of an account. */

import * as z from 'zod';

export interface KeyChange {
  readonly accountId: string;
  readonly key: string;
  /** When true, a key that stands there for this account is replaced. */
  readonly mayReplace: boolean;
  /** These other accounts have their keys from the same secret. */
  readonly sharedWith: readonly string[];
}

export type KeyWrite =
  | { readonly kind: 'create' | 'put'; readonly text: string }
  | { readonly kind: 'nothing' }
  /** The secret holds something that must not be overwritten. The reason continues a sentence, and holds no key. */
  | { readonly kind: 'refused'; readonly reason: string };

const keysOfAccounts = z.record(z.string(), z.string());

/**
 * A secret that does not exist gets the key alone. In one that holds the keys of many accounts, the key stands under the
 * account's id. `known` is what the secret holds, and undefined when there is no such secret.
 */
export function decideKeyWrite(known: string | undefined, change: KeyChange): KeyWrite {
  const { key, accountId } = change;
  if (known === undefined) return { kind: 'create', text: key };
  if (known.trim() === key) return { kind: 'nothing' };
  if (!known.trimStart().startsWith('{')) return replacing(change);
  const keys = keysIn(known);
  if (keys === undefined)
    return {
      kind: 'refused',
      reason: 'holds JSON that is not an object of keys; name another one with --secret.',
    };
  if (keys[accountId] === key) return { kind: 'nothing' };
  if (Object.hasOwn(keys, accountId) && !change.mayReplace)
    return { kind: 'refused', reason: `holds another key for ${accountId} already. ${REMEDY}` };
  return { kind: 'put', text: JSON.stringify({ ...keys, [accountId]: key }) };
}

const REMEDY = 'Use --replace-key to replace it, or name another secret with --secret.';

function replacing({ key, mayReplace, sharedWith }: KeyChange): KeyWrite {
  if (sharedWith.length > 0)
    return {
      kind: 'refused',
      reason: `holds one key for ${sharedWith.join(', ')}, too. Name another secret with --secret.`,
    };
  if (!mayReplace) return { kind: 'refused', reason: `holds another key already. ${REMEDY}` };
  return { kind: 'put', text: key };
}

function keysIn(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return keysOfAccounts.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
