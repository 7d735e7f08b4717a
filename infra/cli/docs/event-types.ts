/**
 * Writes the TypeScript types of the events from their definitions, for the package of the subscribers. An editor then
 * shows plain interfaces with the meaning of each field, instead of what is inferred from a schema.
 */

import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import type { GeneratedFile } from './event-docs.ts';

type Definition = (typeof eventCatalog)[number];
type Schema = z.core.JSONSchema.BaseSchema;

export function eventTypes(): readonly GeneratedFile[] {
  return [{ path: 'infra/packages/events/event-details.ts', text: source() }];
}

function source(): string {
  const names = eventCatalog.map(({ detailType }) => `  '${detailType}': ${interfaceName(detailType)};`);
  return `/**
 * Declares the detail of each event. \`npm run generate\` writes this file from shared/events/catalog.ts; do not edit it.
 */

${eventCatalog.map(interfaceOf).join('\n')}
/** The type of the detail, by the detail type of the event. */
export interface BridgeEventDetails {
${names.join('\n')}
}
`;
}

function interfaceName(detailType: string): string {
  return detailType.replaceAll(' ', '');
}

function interfaceOf({ detailType, detail, summary }: Definition): string {
  const schema = z.toJSONSchema(detail, { io: 'input' });
  return `${comment(summary, '')}export interface ${interfaceName(detailType)} ${objectType(schema, '')}\n`;
}

function objectType(schema: Schema, indent: string): string {
  const fields = Object.entries(schema.properties ?? {}) as [string, Schema][];
  const lines = fields.map(([name, field]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const types = [...alternatives(field, `${indent}  `), ...(isRequired ? [] : ['undefined'])];
    const meaning = comment(field.description, `${indent}  `);
    return `${meaning}${indent}  ${name}${isRequired ? '' : '?'}: ${types.join(' | ')};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

/** Returns the types of a union, or the only type. Throws for a kind of schema that the catalog does not use. */
function alternatives(schema: Schema, indent: string): readonly string[] {
  if (schema.const !== undefined) return [literal(schema.const)];
  if (schema.enum !== undefined) return schema.enum.map(literal);
  if (schema.examples !== undefined) return [...schema.examples.map(literal), ANOTHER_TEXT];
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((part) => alternatives(part, indent));
  const { type } = schema;
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, indent));
  return [typeOf(schema, indent)];
}

function typeOf(schema: Schema, indent: string): string {
  const { type } = schema;
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'object') return objectType(schema, indent);
  if (type === 'array') return arrayOf(alternatives(schema.items as Schema, indent));
  throw new Error(`There is no TypeScript type for this schema yet: ${JSON.stringify(schema)}`);
}

function arrayOf(items: readonly string[]): string {
  return items.length === 1 ? `${items[0]}[]` : `(${items.join(' | ')})[]`;
}

/** Keeps the known values of an open set visible in an editor, which would show a plain `string` otherwise. */
const ANOTHER_TEXT = '(string & Record<never, never>)';

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}
