/** Tests the variables of a function's environment that are in a file beside its code. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENVIRONMENT_FILE, functionEnvironment } from '../../shared/runtime/read-config.ts';

const folderWith = (text?: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'code-'));
  if (text !== undefined) writeFileSync(join(folder, ENVIRONMENT_FILE), text);
  return folder;
};

test('adds the variables of the file to those of the process, which go before them', () => {
  const folder = folderWith('{"ACCOUNTS":"[1]","LOG_LEVEL":"INFO"}');

  expect(functionEnvironment(folder, { LOG_LEVEL: 'DEBUG', TABLE_NAME: 't' })).toEqual({
    ACCOUNTS: '[1]',
    LOG_LEVEL: 'DEBUG',
    TABLE_NAME: 't',
  });
});

test('is that of the process alone when no file lies there', () => {
  expect(functionEnvironment(folderWith(), { TABLE_NAME: 't' })).toEqual({ TABLE_NAME: 't' });
});

test('fails on a file that is not JSON, and does not begin without it', () => {
  expect(() => functionEnvironment(folderWith('{"ACCOUNTS":'), {})).toThrow(SyntaxError);
});
