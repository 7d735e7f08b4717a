/**
 * Reads a JSON text as its parts, with their places in the text, so that parts such as secrets can be cut out and
 * everything else stays byte for byte: spaces, equal names, and numbers that have no exact value in JavaScript. The
 * time is linear in the text.
 */

import { withoutSecretShapes } from '../runtime/secret.ts';

interface Span {
  readonly start: number;
  /** The first place behind the part. */
  readonly end: number;
}

export type JsonPart = Span &
  (
    | { readonly kind: 'text' | 'number' | 'word' }
    | { readonly kind: 'list'; readonly items: readonly JsonPart[] }
    | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  );

interface JsonMember {
  readonly name: JsonPart;
  readonly value: JsonPart;
}

/** The deepest answer that was seen has six levels. An answer with more levels than this counts as not readable. */
const DEPTH_MAX = 100;

/**
 * Returns the values of the text, which are one, or several with white space between them. Returns undefined when the
 * text cannot be read to its end as JSON (RFC 8259).
 */
export function readJson(text: string): readonly JsonPart[] | undefined {
  const values: JsonPart[] = [];
  for (let place = behindSpace(text, 0); place < text.length; ) {
    const value = readValue(text, place, 0);
    if (value === undefined) return undefined;
    values.push(value);
    place = behindSpace(text, value.end);
  }
  return values;
}

function readValue(text: string, start: number, depth: number): JsonPart | undefined {
  if (depth > DEPTH_MAX) return undefined;
  const first = text[start];
  if (first === '"') return readText(text, start);
  if (first === '{' || first === '[') return readNested(text, start, depth);
  return readToken(text, start);
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y;
const WORD = /(?:true|false|null)(?!\w)/y;

function readToken(text: string, start: number): JsonPart | undefined {
  for (const [kind, pattern] of [
    ['number', NUMBER],
    ['word', WORD],
  ] as const) {
    pattern.lastIndex = start;
    if (pattern.test(text)) return { kind, start, end: pattern.lastIndex };
  }
  return undefined;
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;

function readText(text: string, start: number): JsonPart | undefined {
  for (let place = start + 1; place < text.length; ) {
    const unit = text.charCodeAt(place);
    if (unit === 0x22) return { kind: 'text', start, end: place + 1 };
    if (unit < 0x20) return undefined;
    if (unit !== 0x5c) {
      place += 1;
      continue;
    }
    ESCAPE.lastIndex = place;
    if (!ESCAPE.test(text)) return undefined;
    place = ESCAPE.lastIndex;
  }
  return undefined;
}

/** Reads an object or a list. */
function readNested(text: string, start: number, depth: number): JsonPart | undefined {
  const isObject = text[start] === '{';
  const close = isObject ? '}' : ']';
  const items: JsonPart[] = [];
  const members: JsonMember[] = [];
  let place = behindSpace(text, start + 1);
  while (text[place] !== close || items.length + members.length > 0) {
    const name = isObject ? readName(text, place) : undefined;
    if (isObject && name === undefined) return undefined;
    const value = readValue(text, behindSpace(text, name?.colonEnd ?? place), depth + 1);
    if (value === undefined) return undefined;
    if (name === undefined) items.push(value);
    else members.push({ name: name.part, value });
    place = behindSpace(text, value.end);
    if (text[place] === close) break;
    if (text[place] !== ',') return undefined;
    place = behindSpace(text, place + 1);
  }
  const span = { start, end: place + 1 };
  return isObject ? { kind: 'object', members, ...span } : { kind: 'list', items, ...span };
}

function readName(
  text: string,
  start: number,
): { readonly part: JsonPart; readonly colonEnd: number } | undefined {
  const part = text[start] === '"' ? readText(text, start) : undefined;
  if (part === undefined) return undefined;
  const colon = behindSpace(text, part.end);
  return text[colon] === ':' ? { part, colonEnd: colon + 1 } : undefined;
}

function behindSpace(text: string, from: number): number {
  let place = from;
  while (place < text.length && ' \n\r\t'.includes(text[place] ?? '')) place += 1;
  return place;
}

/** Returns what a text part says, with its escapes read. */
export function textOf(text: string, { start, end }: JsonPart): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/** Another text stands in the place of a part. */
interface Cut extends Span {
  readonly by: string;
}

/** The cuts are in the order of their places, and none lies in another. */
function withCuts(text: string, cuts: readonly Cut[]): string {
  if (cuts.length === 0) return text;
  const pieces: string[] = [];
  let place = 0;
  for (const { start, end, by } of cuts) {
    pieces.push(text.slice(place, start), by);
    place = end;
  }
  return [...pieces, text.slice(place)].join('');
}

const HIDDEN = '';

/** Matches names without their separators and in small letters: `clientSecret`, `client-secret` and `CLIENT_SECRET` are the same name. */
const SECRET_NAME =
  /(password|passwd|passphrase|secret|privatekey|credential)|(pwd|apikey|accesskey|accesstoken|refreshtoken|authtoken|connectionuri|connectionstring|databaseurl|dsn)$/;

/** A time is no secret, even below a name like `password_updated_at`. */
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/;

/** A text that begins like this is JSON, and is not shown unless it can be read to its end. */
const JSON_START = /^\s*["[{]/;

/**
 * Returns the same text when it has no secret in it, and undefined when it cannot be shown safely. What is hidden is cut
 * out of the text, and everything else of it stays.
 */
export function withoutSecrets(text: string): string | undefined {
  if (!JSON_START.test(text)) return withoutShapes(text);
  const values = readJson(text);
  if (values === undefined) return undefined;
  const cuts: Cut[] = [];
  for (const value of values) findSecrets({ text, cuts }, value, false);
  return withCuts(text, cuts);
}

interface Search {
  readonly text: string;
  readonly cuts: Cut[];
}

/** Each member counts, also when another one has the same name. `isSecret`: the value stands below a name of a secret. */
function findSecrets(search: Search, part: JsonPart, isSecret: boolean): void {
  const { text, cuts } = search;
  const { kind, start, end } = part;
  if (kind === 'text') {
    const value = textOf(text, part);
    const shown = hideText(value, isSecret);
    if (shown !== value) cuts.push({ start, end, by: JSON.stringify(shown) });
  }
  if (kind === 'number' && isSecret && text.slice(start, end) !== '0') cuts.push({ start, end, by: '0' });
  if (kind === 'list') for (const item of part.items) findSecrets(search, item, isSecret);
  if (kind !== 'object') return;
  for (const { name, value } of part.members) {
    const named = textOf(text, name);
    const nameKind = kindOf(named);
    if (nameKind === 'shaped') cuts.push({ ...name, by: JSON.stringify(withoutShapes(named)) });
    const isNamedSecret = nameKind === 'secret' || (nameKind === 'shaped' && isSecretName(named));
    findSecrets(search, value, isSecret || (isNamedSecret && !isDescription(named, value)));
  }
}

function hideText(text: string, isSecret: boolean): string {
  return isSecret && !TIME.test(text) ? HIDDEN : withoutShapes(text);
}

/** What a name says: its value is a secret, the name itself looks like a secret, or nothing of the kind. */
type NameKind = 'secret' | 'shaped' | 'plain';

/** Answers repeat a few hundred names, so what was found out about a name is remembered. */
const KINDS = new Map<string, NameKind>();

/** More names than this, or longer ones, are looked at each time: a name may be anything that a user has chosen. */
const NAMES_MAX = 2_000;
const NAME_CHARACTERS_MAX = 64;

function kindOf(name: string): NameKind {
  const known = KINDS.get(name);
  if (known !== undefined) return known;
  // A name that looks like a secret may be one, so it is not kept.
  if (withoutShapes(name) !== name) return 'shaped';
  const kind = isSecretName(name) ? 'secret' : 'plain';
  if (KINDS.size < NAMES_MAX && name.length <= NAME_CHARACTERS_MAX) KINDS.set(name, kind);
  return kind;
}

/**
 * The upstream describes the credentials of a branch and the sign-in with a password under these names. The parts of the
 * description are judged by names of their own; a value of another kind may be the secret itself.
 */
function isDescription(name: string, value: JsonPart): boolean {
  if (name === 'email_and_password') return value.kind === 'object';
  return (
    name === 'credentials' && value.kind === 'list' && value.items.every(({ kind }) => kind === 'object')
  );
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[^A-Za-z0-9]/g, '').toLowerCase());
}

function withoutShapes(text: string): string {
  return withoutSecretShapes(text, HIDDEN);
}
