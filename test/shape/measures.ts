/** Lists production files, and derives the quantiles of what is measured on them. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export function productionFiles(): readonly string[] {
  return ['functions', 'infra', 'shared'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => join(root, name)),
  );
}

export function within(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** Returns the smallest value for which this holds: the given share of all values are equal to it or smaller. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
