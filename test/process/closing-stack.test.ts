import { expect, test } from 'vitest';
import { createClosingStack } from '../../infra/process/closing-stack.ts';

test('closes in the opposite order of opening, one after the other', async () => {
  const steps: string[] = [];
  const closing = (name: string) => async () => {
    steps.push(`${name} begins`);
    await Promise.resolve();
    steps.push(`${name} ends`);
  };
  {
    await using stack = createClosingStack();
    stack.defer(closing('first'));
    const resource = { [Symbol.asyncDispose]: closing('second') };
    expect(stack.use(resource)).toBe(resource);
  }

  expect(steps).toEqual(['second begins', 'second ends', 'first begins', 'first ends']);
});

test('closes the rest after an error, and rejects with it', async () => {
  let isClosed = false;
  const stack = createClosingStack();
  stack.defer(async () => {
    isClosed = true;
  });
  stack.defer(() => Promise.reject(new Error('stuck')));

  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow(/^stuck$/);
  expect(isClosed).toBe(true);
});

test('names every error when several have failed', async () => {
  const stack = createClosingStack();
  for (const message of ['a', 'b']) stack.defer(() => Promise.reject(new Error(message)));

  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow('b; a');
});
