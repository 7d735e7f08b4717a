import { expect, test } from 'vitest';
import { provesNoWork } from '../../shared/rates/retry-decision.ts';

test.each([400, 401, 403, 404, 409, 418, 422, 423, 429, 503])(
  '%i proves that a command was not carried out',
  (status) => {
    expect(provesNoWork(status)).toBe(true);
  },
);

test.each([200, 302, 408, 425, 499, 500, 502, 504, 524])(
  '%i does not prove that a command was not carried out',
  (status) => {
    expect(provesNoWork(status)).toBe(false);
  },
);
