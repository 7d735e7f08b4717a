import { expect, test } from 'vitest';
import { pathFault } from '../../shared/upstream/upstream-error.ts';

test.each(['https://host/api/v2', 'https://host/api/v2/', 'http://127.0.0.1:8080/behind/a/proxy/api/v2'])(
  'the address %s has the path of the API',
  (address) => expect(pathFault(address)).toBeUndefined(),
);

test.each([
  ['https://host', '/'],
  ['https://host/', '/'],
  ['https://host/api', '/api'],
  ['https://host/api/v2/projects', '/api/v2/projects'],
])('the address %s lacks it, which is said with the path %s', (address, path) => {
  expect(pathFault(address)).toBe(
    `check the address first: its path is ${path}, and the API of the service is at https://host/api/v2`,
  );
});
