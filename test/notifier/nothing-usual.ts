/** Stands for a bridge that knows no names yet, and of no action what is usual. */
export const nothingUsual = {
  projectNameOf: async () => undefined,
  usualDurationOf: async () => undefined,
  usualFailuresOf: async () => undefined,
};
