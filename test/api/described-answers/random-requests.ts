/** Makes requests to one route at random from a seed: well-formed ones, and ones that are wrong in some of their parts. */

import type { Route } from '../../../functions/api/serving/route.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { sampleOf } from '../sample-requests.ts';

export interface RandomRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** These values really exist in one project of the simulated world. The keys are the names of their places. */
export type KnownIds = Readonly<Record<string, readonly string[]>>;

const JUNK = [
  '',
  ' ',
  '..',
  '%2e%2e',
  'a b',
  '0',
  '-1',
  'x'.repeat(300),
  'é',
  'null',
  '%00',
  "'",
  'a%2Fb',
  '%ff',
];

const JUNK_VALUES: readonly unknown[] = [null, true, -1, 1.5, '', 'x', [], {}, ['x'], { a: { b: 1 } }];

const BODIES_OF_NO_FORM = [
  '',
  '[]',
  '"x"',
  '{',
  'null',
  '<html>',
  '{"__proto__":{"a":1}}',
  `{"a":"${'x'.repeat(70_000)}"}`,
];

const MEDIA_TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'multipart/form-data; boundary=x',
];

export function randomRequest(route: Route, known: KnownIds, random: Random): RandomRequest {
  const body = randomBody(route, sampleOf(route).body, random);
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => randomId(name, known, random));
  return {
    url: `${path}${randomQuery(route, known, random)}`,
    method: route.method,
    headers: { ...randomHeaders(random), ...body?.headers },
    body: body?.text,
  };
}

function randomId(name: string, known: KnownIds, random: Random): string {
  const real = known[name];
  if (real !== undefined && real.length > 0 && random.next() < 0.92)
    return encodeURIComponent(oneOf(real, random));
  return random.next() < 0.6 ? 'unknown-name-1' : oneOf(JUNK, random);
}

function randomQuery(route: Route, known: KnownIds, random: Random): string {
  const declared = route.declared?.query ?? Object.keys(route.query?.shape ?? {});
  const names = random.next() < 0.1 ? [...declared, 'unknown', 'project_id'] : declared;
  const chosen = names.filter(() => random.next() < 0.4);
  if (chosen.length === 0) return '';
  const pairs = chosen.map((name) => {
    const ids = known[name.replace(/s$/, '')] ?? [];
    const real = ids.length > 0 ? ids : ['2', 'true', '2026-01-15T00:00:00Z', 'neondb'];
    const value = random.next() < 0.7 ? encodeURIComponent(oneOf(real, random)) : oneOf(JUNK, random);
    return name === 'wait' ? 'wait=0' : `${name}=${value}`;
  });
  return `?${[...pairs, ...(random.next() < 0.05 ? pairs : [])].join('&')}`;
}

interface RandomBody {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

function randomBody(route: Route, sample: object | undefined, random: Random): RandomBody | undefined {
  if (route.method === 'GET') return undefined;
  const mediaType = random.next() < 0.85 ? 'application/json' : oneOf(MEDIA_TYPES, random);
  const headers = { 'content-type': mediaType };
  if (random.next() < 0.1) return { text: oneOf(BODIES_OF_NO_FORM, random), headers };
  if (random.next() < 0.2) return undefined;
  const body = sample !== undefined && random.next() < 0.7 ? sample : declaredFields(route, random);
  return {
    text: spelled(random.next() < 0.2 ? { ...body, ...oneJunk(body, random) } : body, random),
    headers,
  };
}

/** These numbers are other ones after they were read and written in JavaScript, or are spelled in another way. */
const NUMBERS = ['12345678901234567890', '-9007199254740993', '1e400', '1.50', '-0', '0.1e1', '5E-3'];

/** Writes JSON as another program may: with spaces, escapes, and numbers that JavaScript does not keep. */
export function spelled(value: unknown, random: Random): string {
  const space = () => (random.next() < 0.1 ? oneOf([' ', '\n\t', '  '], random) : '');
  const list = (parts: readonly string[], [open, close]: readonly [string, string]) =>
    `${open}${space()}${parts.join(`${space()},${space()}`)}${space()}${close}`;
  if (Array.isArray(value))
    return list(
      value.map((each) => spelled(each, random)),
      ['[', ']'],
    );
  if (typeof value === 'string') {
    const text = JSON.stringify(value);
    return random.next() < 0.1 ? text.replace(/[a-z]/, escaped) : text;
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${spelled(name, random)}${space()}:${space()}${spelled(each, random)}`,
  );
  const further = random.next() < 0.1 ? [`"further_number":${oneOf(NUMBERS, random)}`] : [];
  return list([...members, ...further], ['{', '}']);
}

const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Makes an object with some of the fields that the route declares, each with any value. */
function declaredFields(route: Route, random: Random): object {
  const shape = (route.declared?.body() ?? route.body)?.shape ?? {};
  const names = Object.keys(shape).filter(() => random.next() < 0.6);
  return Object.fromEntries(names.map((name) => [name, oneOf(JUNK_VALUES, random)]));
}

function oneJunk(body: object, random: Random): object {
  return { [oneOf([...Object.keys(body), 'unknown'], random)]: oneOf(JUNK_VALUES, random) };
}

function randomHeaders(random: Random): Record<string, string> {
  const prefer =
    random.next() < 0.85
      ? 'wait=0'
      : oneOf(['respond-async', 'respond-async, wait=1', 'wait=x', 'wait=99'], random);
  const key = oneOf(['a', 'b', 'c', ' ', `k-${random.next()}`], random);
  return { prefer, ...(random.next() < 0.2 && { 'idempotency-key': key }) };
}

export function oneOf<T>(values: readonly T[], random: Random): T {
  if (values.length === 0) throw new Error('There is nothing to choose from');
  return values[Math.floor(random.next() * values.length)] as T;
}
