import { expect, test } from 'vitest';
import { createWarmAccounts, WARM_ACCOUNTS_MAX } from '../../../functions/poller/lane/run-lane.ts';

test('an account that comes again with the same settings is the same one', () => {
  const accounts = createWarmAccounts<object>();
  const first = accounts.get('main', 'settings', () => ({}));

  expect(accounts.get('main', 'settings', () => ({}))).toBe(first);
});

test('changed settings make a new account, and the old one is forgotten', () => {
  const accounts = createWarmAccounts<string>();
  accounts.get('main', 'old', () => 'first');

  expect(accounts.get('main', 'new', () => 'second')).toBe('second');
  expect(accounts.get('main', 'old', () => 'third')).toBe('third');
});

test('of many accounts only those that were served last are kept', () => {
  const accounts = createWarmAccounts<string>();
  accounts.get('kept', '', () => 'kept');
  for (let number = 0; number < 1_000; number++) {
    accounts.get(`account-${number}`, '', () => 'dropped');
    accounts.get('kept', '', () => 'made again');
  }
  const again = Array.from({ length: 1_000 }, (_, number) =>
    accounts.get(`account-${number}`, '', () => 'made again'),
  );

  expect(accounts.get('kept', '', () => 'made again')).toBe('made again');
  expect(again.filter((account) => account === 'dropped').length).toBeLessThan(WARM_ACCOUNTS_MAX);
});
