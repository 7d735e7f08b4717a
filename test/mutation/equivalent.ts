/**
 * Mutants that no test can notice, because the changed code does the same: each with its proof. A mutant that a test could
 * notice does not belong here, however unlikely its effect is.
 */

export interface Equivalent {
  readonly file: string;
  /** The line on which the mutant begins, as it stands in the file. */
  readonly line: string;
  readonly original: string;
  readonly replacement: string;
  readonly proof: string;
}

const RECORD_OPERATION = 'shared/protocol/record-operation.ts';

export const equivalents: readonly Equivalent[] = [
  {
    file: RECORD_OPERATION,
    line: '} catch {',
    original: "{ return 'unknown'; }",
    replacement: '{}',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  {
    file: RECORD_OPERATION,
    line: "return 'unknown';",
    original: "'unknown'",
    replacement: '""',
    proof: "The caller compares the result with 'recorded' and with nothing else.",
  },
  ...['record === undefined → false', "{ kind: 'unresolved' } → {}", '\'unresolved\' → ""'].map((change) => {
    const [original = '', replacement = ''] = change.split(' → ');
    return {
      file: RECORD_OPERATION,
      line: "return record === undefined ? { kind: 'unresolved' } : { kind: 'unchanged', record };",
      original,
      replacement,
      proof: 'A first reading always is a transition, so nothing is unchanged of which nothing is recorded.',
    };
  }),
  {
    file: 'shared/core/rates/no-work.ts',
    line: 'return status !== undefined && PASS.has(status);',
    original: 'status !== undefined',
    replacement: 'true',
    proof: 'The set holds numbers alone, so it does not have `undefined`.',
  },
  {
    file: 'shared/core/rates/retry-delay.ts',
    line: "const text = header?.trim() ?? '';",
    original: "''",
    replacement: '"Stryker was here!"',
    proof: 'Neither text is a number or a date.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))Z$/',
    proof:
      'It fits fewer texts, and those that it leaves are read by the other pattern, which says the same of them.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/;',
    original:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d+))?Z$/',
    replacement:
      '/^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.(\\d))?Z$/',
    proof:
      'It fits fewer texts, and those that it leaves are read by the other pattern, which says the same of them.',
  },
  {
    file: 'shared/core/time/timestamp.ts',
    line: "if (plain !== null) return inFull(text.slice(0, 19), plain[1] ?? '');",
    original: 'plain !== null',
    replacement: 'false',
    proof: 'The other pattern reads every text that this one fits, and says the same of it.',
  },
  {
    file: 'shared/protocol/relay-ledger.ts',
    line: 'if (throughOf.size > ACKNOWLEDGED_MAX && oldest !== undefined) throughOf.delete(oldest);',
    original: 'oldest !== undefined',
    replacement: 'true',
    proof: 'A key was set in the statement before, so the map has an oldest one.',
  },
  {
    file: 'shared/protocol/relay-records.ts',
    line: "outcome: outcomes[index] ?? { kind: 'retry' as const, code: 'NoResult' },",
    original: "'NoResult'",
    replacement: '""',
    proof: 'Nobody reads the code of an entry that is sent again.',
  },
];
