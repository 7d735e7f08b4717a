/** Writes the texts that cost a pattern most: every way in which it can begin, repeated and drawn out, and never ended. */

import type { Node } from './pattern-steps.ts';

/** Of each class of characters, the first of these that it accepts stands for it. */
const CHARACTERS = [
  ...Array.from('aA0-_. \n"\'/:@='),
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  '\u00e9',
  '\u200b',
  '\ud800',
];

/** These fill the room between two beginnings, beside what the pattern itself names. */
const FILLERS = ['a', '0', '-', '.', ' ', '"', '/'];

/** Returns the text that repeats its part this often. */
export type Attack = (count: number) => string;

export function attacksOn(pattern: Node): readonly Attack[] {
  const samples = new Set(samplesOf(pattern));
  const prefixes = [...samples].flatMap((sample) =>
    Array.from(sample, (_, last) => sample.slice(0, last + 1)),
  );
  const beginnings = [...new Set(prefixes)];
  const fillers = [...new Set([...FILLERS, ...charactersIn(pattern, false)])];
  const parts = [
    ...beginnings.map((beginning) => ['', beginning] as const),
    ...fillers.map((filler) => ['', filler] as const),
    ...beginnings.flatMap((beginning) =>
      fillers.flatMap((filler) => [
        [beginning, filler] as const,
        ['', beginning + filler] as const,
        ['', filler + beginning] as const,
      ]),
    ),
  ];
  return parts.flatMap(([start, part]) =>
    ['', '\u0001'].map((end) => (count: number) => start + part.repeat(count) + end),
  );
}

/** Returns texts that the pattern matches, or nearly so: each alternative and each count of a repetition is in one of them. */
function samplesOf(node: Node): readonly string[] {
  switch (node.kind) {
    case 'char':
      return [CHARACTERS.find(node.accepts) ?? unknown()];
    case 'edge':
      return [''];
    case 'look':
      return node.isNegative || node.isBehind ? [''] : ['', ...samplesOf(node.of)];
    case 'any':
      return node.of.flatMap(samplesOf);
    case 'many': {
      const counts = new Set([node.min, Math.max(node.min, Math.min(node.max, 1))]);
      return samplesOf(node.of).flatMap((one) => [...counts].map((count) => one.repeat(count)));
    }
    case 'all': {
      // One part varies at a time, because all combinations are too many.
      const parts = node.of.map(samplesOf);
      const usual = parts.map((part) => part.at(-1) ?? '');
      return parts.flatMap((part, place) => part.map((one) => usual.with(place, one).join('')));
    }
  }
}

/** Only what a pattern reads any number of times can be drawn out. */
function charactersIn(node: Node, isDrawnOut: boolean): readonly string[] {
  if (node.kind === 'char') return isDrawnOut ? CHARACTERS.filter(node.accepts).slice(0, 2) : [];
  if (node.kind === 'edge') return [];
  const isMany = isDrawnOut || isEndless(node);
  return [node.of].flat().flatMap((one) => charactersIn(one, isMany));
}

/** Returns true when the pattern reads on for as long as a text goes on. Any other one reads a few characters at each place. */
export function readsOn(node: Node): boolean {
  if (node.kind === 'char' || node.kind === 'edge') return false;
  return isEndless(node) || [node.of].flat().some(readsOn);
}

const ENDLESS = 1_000;

function isEndless(node: Node): boolean {
  return node.kind === 'many' && node.max >= ENDLESS;
}

function unknown(): never {
  throw new Error('A pattern has a class of which no character is known here; add one to CHARACTERS');
}
