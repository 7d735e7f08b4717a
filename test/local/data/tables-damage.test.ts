import { describe, expect, test } from 'vitest';
import { damageOfFiles, isDamage, leftOut } from '../../../infra/local/data-folder.ts';

describe('the files of the tables', () => {
  test.each([[[]], [['LOCK', 'LOG']], [['CURRENT', 'MANIFEST-000004', '000005.ldb', '000006.log']]])(
    '%j are in order',
    (names) => expect(damageOfFiles(names)).toBeUndefined(),
  );

  test.each([['000005.ldb'], ['000003.log'], ['MANIFEST-000002']])(
    'with %s and without the file that names the others are damaged, because the database would delete them',
    (name) => expect(damageOfFiles([name, 'LOCK'])).toBe('the file CURRENT is missing'),
  );
});

test.each([
  ['Corruption: CURRENT file does not end with newline', true],
  ['IO error: /state/tables/MANIFEST-000002: No such file or directory', true],
  ['IO error: /state/tables/000005.ldb: Invalid argument', true],
  ['Unexpected token in JSON, "{a" is not valid JSON', true],
  ['IO error: /state/tables/LOCK: Permission denied', false],
  ['IO error: /state/tables/LOCK: Is a directory', false],
  ['IO error: /state/tables/000007.log: No space left on device', false],
])('%s is damage: %s', (reason, expected) => {
  expect(isDamage(reason)).toBe(expected);
});

test('what the database has left out is read from its log', () => {
  const log = `2026/01/15-12:00:00.299714 7ff4 Recovering log #3
2026/01/15-12:00:00.300827 7ff4 (ignoring error) /state/tables/000003.log: dropping 27889 bytes; Corruption: checksum mismatch
2026/01/15-12:00:00.302126 7ff4 Level-0 table #5: started
`;

  expect(leftOut(log)).toEqual(['27889 bytes of 000003.log (Corruption: checksum mismatch)']);
});
