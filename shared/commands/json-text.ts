/**
 * Reads a JSON text as its parts, with their places in the text, so that parts can be cut out and everything else stays
 * byte for byte: spaces, equal names, and numbers that have no exact value in JavaScript. The time is linear in the text.
 */

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
export interface Cut extends Span {
  readonly by: string;
}

/** The cuts are in the order of their places, and none lies in another. */
export function withCuts(text: string, cuts: readonly Cut[]): string {
  if (cuts.length === 0) return text;
  const pieces: string[] = [];
  let place = 0;
  for (const { start, end, by } of cuts) {
    pieces.push(text.slice(place, start), by);
    place = end;
  }
  return [...pieces, text.slice(place)].join('');
}
