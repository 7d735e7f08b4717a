/** Keeps one thing for each account that a process serves, made when it is first asked for. */

export interface PerAccount<Kept> {
  /** Returns undefined when there is no such account. */
  get(accountId: string): Kept | undefined;
}

/**
 * Creates something of an account when it is first asked for, and again when the account's settings have changed.
 * `settingsOf` returns what the account has at present, and undefined when there is no such account. `made` returns what
 * was asked for so far.
 */
export function perAccount<Settings extends object, Kept>(
  settingsOf: (accountId: string) => Settings | undefined,
  create: (settings: Settings) => Kept,
): PerAccount<Kept> & { readonly made: () => readonly Kept[] } {
  const known = new Map<string, { settings: Settings; readonly kept: Kept }>();
  return {
    made: () => [...known.values()].map(({ kept }) => kept),

    get(accountId) {
      const settings = settingsOf(accountId);
      if (settings === undefined) {
        known.delete(accountId);
        return undefined;
      }
      const found = known.get(accountId);
      if (found !== undefined && isSame(found.settings, settings)) {
        found.settings = settings;
        return found.kept;
      }
      const kept = create(settings);
      known.set(accountId, { settings, kept });
      return kept;
    },
  };
}

/** Settings are plain values, and their members have the same order after each read. */
function isSame(a: object, b: object): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
