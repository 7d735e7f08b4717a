/**
 * No text of a stranger costs more than its length: every pattern of the product is searched in texts that cost it most, and
 * twice the length costs about twice the steps.
 */

import { globSync, readFileSync } from 'node:fs';
import { parse } from '@babel/parser';
import { describe, expect, test } from 'vitest';
import { type Attack, attacksOn, readsOn } from './attack-texts.ts';
import { countSteps, type Node, parsePattern } from './pattern-steps.ts';

/** Twice the length costs at most this many times the steps. A quadratic search needs four times as many. */
const GROWTH_MAX = 2.5;

/**
 * A text begins the pattern this often. A search that reads on from each beginning to the end takes half as many steps for
 * each character, so that fewer steps than that need no second look.
 */
const BEGINNINGS = 80;
const STEPS_PER_CHARACTER = 25;

/** A search that takes more steps than this for each character is too costly, however they grow. */
const STEPS_PER_CHARACTER_MAX = 2_000;

/** Returns the beginning of a text for which twice the length costs more than about twice the steps. */
function costlyText(pattern: Node): string | undefined {
  if (!readsOn(pattern)) return undefined;
  const isCostly = (attack: Attack) => {
    const [text, twice] = [attack(BEGINNINGS), attack(2 * BEGINNINGS)];
    if (countSteps(pattern, text, STEPS_PER_CHARACTER * text.length) < STEPS_PER_CHARACTER * text.length)
      return false;
    const stepsMax = STEPS_PER_CHARACTER_MAX * text.length;
    const [steps, twiceSteps] = [
      countSteps(pattern, text, stepsMax),
      countSteps(pattern, twice, 4 * stepsMax),
    ];
    return steps >= stepsMax || twiceSteps > GROWTH_MAX * steps;
  };
  return attacksOn(pattern).find(isCostly)?.(3);
}

test.each([
  /(a+)+$/,
  /\beyJ[\w-]{10,}\.x/,
  /\s+$/,
  /\{([^}]*)\}/,
  /"[^x]*x/,
  /(:\/\/[^\s@]*)@/,
  /(?:a|b|ab)*c/,
])('%s is found to be too costly', (pattern) => {
  expect(costlyText(parsePattern(pattern))).toBeTypeOf('string');
});

describe('no text costs more than its length', () => {
  const patterns = globSync('{functions,shared}/**/*.ts').flatMap(patternsIn);

  test.each(patterns)('when it is searched for $pattern of $place', ({ pattern }) => {
    expect(costlyText(parsePattern(pattern))).toBeUndefined();
  });
});

/** What these tests need of a node of the syntax tree. */
interface SyntaxNode {
  readonly type: string;
  readonly loc: { readonly start: { readonly line: number } };
  readonly [property: string]: unknown;
}

/** Finds the patterns of a file: those that are literals, and those that are made of texts of the same file. */
function patternsIn(path: string): readonly { readonly place: string; readonly pattern: RegExp }[] {
  const source = readFileSync(path, 'utf8');
  const plugins = ['typescript', 'explicitResourceManagement'] as const;
  const { program } = parse(source, { sourceType: 'module', plugins: [...plugins] });
  const nodes = nodesIn(program as unknown as SyntaxNode);
  return nodes.flatMap((node) => {
    const pattern = patternOf(node, nodes);
    return pattern === undefined ? [] : [{ place: `${path}:${node.loc.start.line}`, pattern }];
  });
}

function nodesIn(node: SyntaxNode): readonly SyntaxNode[] {
  const children = Object.values(node)
    .flat()
    .filter((value): value is SyntaxNode => typeof (value as SyntaxNode | null)?.type === 'string');
  return [node, ...children.filter(({ loc }) => loc !== undefined).flatMap(nodesIn)];
}

function patternOf(node: SyntaxNode, all: readonly SyntaxNode[]): RegExp | undefined {
  if (node.type === 'RegExpLiteral') return new RegExp(String(node['pattern']), String(node['flags']));
  if (node.type !== 'NewExpression' || nameOf(node['callee']) !== 'RegExp') return undefined;
  const [source, flags] = node['arguments'] as readonly [SyntaxNode, SyntaxNode?];
  return new RegExp(textOf(source, all), flags && String(flags['value']));
}

/** A name that stands for no text of the same file counts as a word. */
function textOf(node: SyntaxNode, all: readonly SyntaxNode[]): string {
  if (node.type === 'StringLiteral') return String(node['value']);
  if (node.type === 'TemplateElement') return (node['value'] as { readonly cooked: string }).cooked;
  if (node.type === 'TemplateLiteral') {
    const parts = [node['quasis'], node['expressions']].flat() as readonly (SyntaxNode & { start: number })[];
    return parts
      .toSorted((a, b) => a.start - b.start)
      .map((part) => textOf(part, all))
      .join('');
  }
  const constant = all.find(({ type, id }) => type === 'VariableDeclarator' && nameOf(id) === nameOf(node));
  const value = constant?.['init'] as SyntaxNode | undefined;
  return value?.type === 'StringLiteral' || value?.type === 'TemplateLiteral' ? textOf(value, all) : 'word';
}

function nameOf(node: unknown): unknown {
  return (node as { readonly name?: unknown } | null | undefined)?.name;
}
