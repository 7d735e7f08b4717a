/**
 * Counts the steps that a backtracking matcher, as every JavaScript engine has one, takes to search a text with a pattern.
 * A count says on every machine the same, however busy it is.
 */

export type Node =
  | { readonly kind: 'char'; readonly accepts: (char: string) => boolean }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Node[] }
  | {
      readonly kind: 'many';
      readonly of: Node;
      readonly min: number;
      readonly max: number;
      readonly isLazy: boolean;
    }
  | { readonly kind: 'edge'; readonly of: '^' | '$' | 'b' | 'B' }
  | { readonly kind: 'look'; readonly of: Node; readonly isBehind: boolean; readonly isNegative: boolean };

const EDGES = [
  ['^', '^'],
  ['$', '$'],
  ['\\b', 'b'],
  ['\\B', 'B'],
] as const;

/** Throws when the pattern has a part that no pattern of the project has had so far. */
export function parsePattern({ source, flags }: RegExp): Node {
  let at = 0;
  const charFlags = flags.replaceAll(/[gmy]/g, '');
  const eat = (text: string) => {
    const isThere = source.startsWith(text, at);
    if (isThere) at += text.length;
    return isThere;
  };
  const char = (part: string): Node => {
    const pattern = new RegExp(`^(?:${part})$`, charFlags);
    const known = new Map<string, boolean>();
    const accepts = (one: string) => {
      const found = known.get(one) ?? pattern.test(one);
      known.set(one, found);
      return found;
    };
    return { kind: 'char', accepts };
  };
  const alternatives = (): Node => {
    const of = [sequence()];
    while (eat('|')) of.push(sequence());
    return of.length === 1 ? (of[0] as Node) : { kind: 'any', of };
  };
  const sequence = (): Node => {
    const of: Node[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') of.push(repeated(single()));
    return { kind: 'all', of };
  };
  const group = (): Node => {
    const isNegative = /^(\?<?!)/.test(source.slice(at));
    const isBehind = /^(\?<[=!])/.test(source.slice(at));
    const isLook = isNegative || isBehind || source.startsWith('?=', at);
    const opening = /^(\?<?[=!]|\?:)?/.exec(source.slice(at))?.[0] ?? '';
    at += opening.length;
    const of = alternatives();
    if (!eat(')')) throw new Error(`/${source}/ has a group that is not closed`);
    return isLook ? { kind: 'look', of, isBehind, isNegative } : of;
  };
  const single = (): Node => {
    if (eat('(')) return group();
    for (const [written, edge] of EDGES) if (eat(written)) return { kind: 'edge', of: edge };
    const part = /^(?:\[(?:[^\]\\]|\\.)*\]|\\(?:p\{\w+\}|x[\da-f]{2}|u[\da-f]{4}|[^\dk])|[^\\])/i.exec(
      source.slice(at),
    )?.[0];
    if (part === undefined) throw new Error(`/${source}/ has something unknown at ${at}`);
    at += part.length;
    return char(part);
  };
  const repeated = (of: Node): Node => {
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at));
    if (found === null) return of;
    at += found[0].length;
    const [mark, least = '0', comma, most = ''] = found;
    const min = mark === '+' ? 1 : Number(least);
    const upTo = most === '' ? Number.POSITIVE_INFINITY : Number(most);
    const exact = comma === '' ? min : upTo;
    const max = mark === '?' ? 1 : mark?.startsWith('{') ? exact : Number.POSITIVE_INFINITY;
    return { kind: 'many', of, min, max, isLazy: eat('?') };
  };
  const whole = alternatives();
  if (at < source.length) throw new Error(`/${source}/ was read up to ${at}`);
  return whole;
}

/** Counts the steps of a search for every match in the text, and stops counting at `stepsMax`. */
export function countSteps(pattern: Node, text: string, stepsMax: number): number {
  let steps = 0;
  type Then = (at: number) => number | undefined;
  const isWord = (at: number) => /\w/.test(text[at] ?? ' ');
  const isEdge = (of: string, at: number) => {
    if (of === '^') return at === 0;
    if (of === '$') return at === text.length;
    return (isWord(at - 1) !== isWord(at)) === (of === 'b');
  };
  const match = (node: Node, at: number, then: Then): number | undefined => {
    if (++steps >= stepsMax) throw new TooManySteps();
    switch (node.kind) {
      case 'char':
        return at < text.length && node.accepts(text[at] ?? '') ? then(at + 1) : undefined;
      case 'edge':
        return isEdge(node.of, at) ? then(at) : undefined;
      case 'any':
        return firstOf(node.of, (one) => match(one, at, then));
      case 'all':
        return inOrder(node.of, 0, at, then);
      case 'look': {
        // The patterns look back at one character.
        const from = node.isBehind ? at - 1 : at;
        const isThere =
          from >= 0 &&
          match(node.of, from, (end) => (node.isBehind && end !== at ? undefined : end)) !== undefined;
        return isThere === node.isNegative ? undefined : then(at);
      }
      case 'many':
        return node.of.kind === 'char' ? run(node, node.of, at, then) : again(node, 0, at, then);
    }
  };
  const inOrder = (of: readonly Node[], place: number, at: number, then: Then): number | undefined => {
    const node = of[place];
    return node === undefined ? then(at) : match(node, at, (end) => inOrder(of, place + 1, end, then));
  };
  const again = (
    node: Node & { kind: 'many' },
    count: number,
    at: number,
    then: Then,
  ): number | undefined => {
    const more = () =>
      count < node.max
        ? match(node.of, at, (end) => (end === at ? undefined : again(node, count + 1, end, then)))
        : undefined;
    if (count < node.min) return more();
    return node.isLazy ? (then(at) ?? more()) : (more() ?? then(at));
  };
  /** A run of one character class needs no recursion, so that a text may be long. */
  const run = (
    { min, max, isLazy }: Node & { kind: 'many' },
    { accepts }: Node & { kind: 'char' },
    at: number,
    then: Then,
  ): number | undefined => {
    const canGoOn = (count: number) =>
      count < max && at + count < text.length && accepts(text[at + count] ?? '');
    let count = 0;
    const onward = () => {
      if (++steps >= stepsMax) throw new TooManySteps();
      return canGoOn(count) ? ++count : undefined;
    };
    for (let least = 0; least < min; least++) if (onward() === undefined) return undefined;
    if (isLazy) {
      do {
        const found = then(at + count);
        if (found !== undefined) return found;
      } while (onward() !== undefined);
      return undefined;
    }
    while (onward() !== undefined);
    for (; count >= min; count--) {
      if (++steps >= stepsMax) throw new TooManySteps();
      const found = then(at + count);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  try {
    for (let at = 0; at <= text.length; ) {
      const end = match(pattern, at, (found) => found);
      at = end === undefined || end === at ? at + 1 : end;
    }
  } catch (error) {
    if (!(error instanceof TooManySteps)) throw error;
  }
  return steps;
}

class TooManySteps extends Error {}

function firstOf<In, Out>(all: readonly In[], find: (one: In) => Out | undefined): Out | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
