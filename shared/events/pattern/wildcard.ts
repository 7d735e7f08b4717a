/** Implements the `wildcard` operator: `*` stands for any characters, `\*` and `\\` for themselves. */

export type Wildcard =
  | { readonly kind: 'valid'; readonly matches: (text: string) => boolean }
  | { readonly kind: 'invalid'; readonly reason: string };

export function parseWildcard(pattern: string): Wildcard {
  const literals: string[] = [];
  let literal = '';
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern.charAt(index);
    const next = pattern.charAt(index + 1);
    if (character === '*') {
      if (next === '*') return invalid(`Consecutive wildcard characters at pos ${index}`);
      literals.push(literal);
      literal = '';
    } else if (character === '\\') {
      if (next !== '*' && next !== '\\') return invalid(`Invalid escape character at pos ${index}`);
      literal += next;
      index += 1;
    } else {
      literal += character;
    }
  }
  return { kind: 'valid', matches: (text) => matchesLiterals([...literals, literal], text) };
}

/**
 * Matches each literal at the first place where it fits. That takes linear time, where a regular expression could
 * take for ever.
 */
function matchesLiterals(literals: readonly string[], text: string): boolean {
  const first = literals[0] ?? '';
  if (literals.length === 1) return text === first;
  const last = literals.at(-1) ?? '';
  if (text.length < first.length + last.length) return false;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  const middle = text.slice(first.length, text.length - last.length);
  let from = 0;
  for (const literal of literals.slice(1, -1)) {
    const position = middle.indexOf(literal, from);
    if (position < 0) return false;
    from = position + literal.length;
  }
  return true;
}

function invalid(reason: string): Wildcard {
  return { kind: 'invalid', reason };
}
