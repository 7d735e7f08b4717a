/** Tests the document and its page: they have all of the routes, and nothing from elsewhere. */

import { describe, expect, test } from 'vitest';
import { docsPage, PAGE_POLICY } from '../../functions/api/documentation/docs-page.ts';
import { withDocumentation } from '../../functions/api/documentation/documentation-routes.ts';
import { type OpenApiDocument, openApiDocument } from '../../functions/api/documentation/openapi.ts';
import type { ApiRequest } from '../../functions/api/serving/route.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { createApiUnderTest } from './api-under-test.ts';

const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'k' });
const answer = await api.app.request('/bridge/v1/openapi.json');
const document = (await answer.json()) as OpenApiDocument;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('the OpenAPI document', () => {
  test('is served to everybody', () => {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(document.openapi).toBe('3.1.0');
  });

  test('has every route once, and no other', async () => {
    const documented = operations.map(
      ({ path, method, operation }) => `${operation.operationId} ${method.toUpperCase()} ${path}`,
    );

    expect(documented.toSorted()).toEqual(
      (await api.routes()).map(({ id, method, path }) => `${id} ${method} ${path}`).toSorted(),
    );
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
  });

  test('says of every call which scope it needs, or that it needs none', () => {
    for (const { operation } of operations) {
      const scope = operation['x-required-scope'];
      if (scope === undefined) expect(operation.description).toMatch(/For every token|Open to everybody/);
      else expect(SCOPES as readonly string[]).toContain(scope);
    }
  });

  test('names every id of a path, and nothing as required that may be left out', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const named = operation.parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name);
      expect([path, named]).toEqual([path, inPath]);
      expect(
        operation.parameters.filter((parameter) => parameter.in !== 'path' && parameter.required),
      ).toEqual([]);
    }
  });

  test('resolves each of its references', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, target]) => target ?? '',
    );
    const resolve = (target: string) =>
      target
        .replace('#/', '')
        .split('/')
        .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document);

    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((target) => resolve(target) === undefined)).toEqual([]);
  });

  test('names the problems that a call can have', () => {
    const restart = operations.find(
      ({ operation }) => operation.operationId === 'restartEndpoint',
    )?.operation;

    const statuses = '200 202 400 401 403 404 406 409 410 412 413 415 422 423 429 500 502 503 504 default';
    expect(Object.keys(restart?.responses ?? {})).toEqual(statuses.split(' '));
    // A refusal of the upstream is JSON, and one of the bridge is a problem document.
    const media = (status: string) =>
      Object.keys((restart?.responses[status] as { content: object } | undefined)?.content ?? {});
    expect([media('404'), media('503'), media('423'), media('413')]).toEqual([
      ['application/json', 'application/problem+json'],
      ['application/json', 'application/problem+json'],
      ['application/json'],
      ['application/problem+json'],
    ]);
  });

  test('describes bodies as the server takes them: with what is required, and open to newer fields', () => {
    const create = operations.find(({ operation }) => operation.operationId === 'createEndpoint')?.operation;

    expect(create?.requestBody).toMatchObject({
      content: { 'application/json': { schema: { required: ['endpoint'] } } },
    });
    expect(JSON.stringify(create?.requestBody)).not.toContain('"additionalProperties":false');
  });

  test('changes with its routes', async () => {
    const [first, ...rest] = await api.routes();
    if (first === undefined) throw new Error('no route');

    expect(JSON.stringify(openApiDocument(rest, '1'))).not.toContain(`"${first.id}"`);
  });
});

test('the document and its page are made once, whoever asks and how often', async () => {
  const [route] = await api.routes();
  if (route === undefined) throw new Error('no route');
  let readCount = 0;
  const watched = Object.defineProperty({ ...route }, 'summary', {
    get() {
      readCount += 1;
      return route.summary;
    },
  });
  const routes = withDocumentation([watched], { now: () => 0 }).slice(1);
  const ask = async () => {
    for (const each of routes) await each.handle({ headers: {} } as ApiRequest);
    return readCount;
  };

  const counts = [await ask(), await ask(), await ask()];
  expect(counts[0]).toBeGreaterThan(0);
  expect(new Set(counts).size).toBe(1);
});

describe('the page', () => {
  test('is served with a policy that lets nothing in from elsewhere', async () => {
    const page = await api.app.request('/bridge/v1/docs');
    const text = await page.text();

    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toBe(PAGE_POLICY);
    expect(PAGE_POLICY).toMatch(/default-src 'none'.*script-src 'sha256-[^ ]+'; style-src 'sha256-[^ ]+'/);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(text).not.toMatch(/ on\w+="| style="/);
  });

  test('has every call', () => {
    const page = docsPage(document);

    expect(operations.filter(({ operation }) => !page.includes(`id="${operation.operationId}"`))).toEqual([]);
  });

  test('shows markup in a summary as text', async () => {
    const [route] = await api.routes();
    if (route === undefined) throw new Error('no route');
    const hostile = openApiDocument([{ ...route, summary: '<img src=x onerror=alert(1)>' }], '1');

    expect(docsPage(hostile)).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(docsPage(hostile)).not.toContain('<img');
  });
});
