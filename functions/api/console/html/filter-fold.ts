/** Folds the filter of a list away on a phone, where its fields would fill the first screen. */

import { html } from 'hono/html';
import type { Html } from './markup.ts';

/**
 * The summary names what is chosen, as `Filter: failed, start_compute`, so that a folded filter is not overlooked. Wide
 * screens show the form in any case, and no summary.
 */
export function filterFold(chosen: readonly (string | undefined)[], form: Html): Html {
  const named = chosen.filter((each) => each !== undefined && each !== '').join(', ');
  return html`<details id="filter" class="filter"><summary>${named === '' ? 'Filter' : `Filter: ${named}`}</summary>${form}</details>`;
}
