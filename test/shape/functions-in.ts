/** Finds every function of a file, with its name, its number of lines and the place of its body. */

import { parse } from '@babel/parser';

export interface MeasuredFunction {
  readonly path: string;
  readonly name: string;
  /** The function begins on this line, counted from 1. */
  readonly line: number;
  readonly lines: number;
  /** The statements or the expression that a call runs stand between these offsets. */
  readonly body: Body | undefined;
}

export interface Body {
  readonly start: number;
  readonly end: number;
  readonly kind: 'block' | 'expression' | 'expression in parentheses';
}

/** The walk needs this of a node of the syntax tree. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
]);

export function functionsIn(path: string, text: string): readonly MeasuredFunction[] {
  const found: MeasuredFunction[] = [];
  const lineStarts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineAt = (offset: number) => lineStarts.findLastIndex((start) => start <= offset) + 1;
  const visit = (node: Node, name: string) => {
    if (FUNCTIONS.has(node.type)) {
      const line = lineAt(node.start);
      found.push({
        path,
        name: nameOf(node) ?? name,
        line,
        lines: lineAt(node.end) - line + 1,
        body: bodyOf(node),
      });
    }
    for (const child of childrenOf(node)) visit(child, nameOf(node) ?? name);
  };
  const { program } = parse(text, {
    sourceType: 'module',
    plugins: ['typescript', 'explicitResourceManagement'],
  });
  visit(program as unknown as Node, 'the file');
  return found;
}

/** A constructor has none here, because nothing may stand before its call of `super`. */
function bodyOf(node: Node): Body | undefined {
  const { body } = node;
  if (!isNode(body) || node['kind'] === 'constructor') return undefined;
  const { start, end, type } = body;
  const { parenthesized } = (body['extra'] ?? {}) as { readonly parenthesized?: boolean };
  if (type === 'BlockStatement') return { start, end, kind: 'block' };
  return { start, end, kind: parenthesized ? 'expression in parentheses' : 'expression' };
}

/** Returns the name that a declaration, a variable or a property gives to what it holds. */
function nameOf(node: Node): string | undefined {
  const holder = (node['id'] ?? node['key']) as { readonly name?: string } | null | undefined;
  return holder?.name;
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}
