/**
 * Writes the TypeScript types of the events from their definitions, for the package of the subscribers. An editor then
 * shows plain interfaces with the meaning of each field, instead of what is inferred from a schema.
 */

import {
  commonFields,
  type EventShape,
  eventShapes,
  type Field,
  fieldsOf,
  type Schema,
  sharedNameOf,
  sharedObjects,
} from './event-shapes.ts';
import type { GeneratedFile } from './generated-section.ts';

export function eventTypes(): readonly GeneratedFile[] {
  return [{ path: 'infra/packages/events/event-details.ts', text: source() }];
}

function source(): string {
  const shapes = eventShapes();
  const names = shapes.map(({ detailType }) => `  '${detailType}': ${interfaceName(detailType)};`);
  const shared = [...sharedObjects].map(
    ([name, schema]) =>
      `${comment(schema.description, '')}export interface ${name} ${objectType(fieldsOf(schema), '')}\n`,
  );
  return `/**
 * Declares the detail of each event. \`npm run generate\` writes this file from shared/events/catalog.ts; do not edit it.
 */

/** A value that is newer than this package: every set of values can gain some without notice. */
export type NewValue = string & Record<never, never>;

/** Every event has these fields. */
export interface EventDetail ${objectType(commonFields, '')}

${[...shared, ...shapes.map(interfaceOf)].join('\n')}
/** The type of the detail, by the detail type of the event. */
export interface BridgeEventDetails {
${names.join('\n')}
}
`;
}

function interfaceName(detailType: string): string {
  return detailType.replaceAll(' ', '');
}

function interfaceOf({ detailType, ownFields, summary }: EventShape): string {
  const name = interfaceName(detailType);
  return `${comment(summary, '')}export interface ${name} extends EventDetail ${objectType(ownFields, '')}\n`;
}

function objectType(fields: readonly Field[], indent: string): string {
  const lines = fields.map(({ name, schema, isRequired }) => {
    const types = [...alternatives(schema, `${indent}  `), ...(isRequired ? [] : ['undefined'])];
    // The meaning of a shared object stands at its interface.
    const description = sharedNameOf(schema) === undefined ? schema.description : undefined;
    const meaning = comment(description, `${indent}  `);
    return `${meaning}${indent}  ${name}${isRequired ? '' : '?'}: ${types.join(' | ')};\n`;
  });
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`;
}

/** Returns the types of a union, or the only type. Throws for a kind of schema that the catalog does not use. */
function alternatives(schema: Schema, indent: string): readonly string[] {
  if (schema.const !== undefined) return [literal(schema.const)];
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
  if (type === 'object') return sharedNameOf(schema) ?? objectType(fieldsOf(schema), indent);
  if (type === 'array') return arrayOf(alternatives(schema.items as Schema, indent));
  throw new Error(`There is no TypeScript type for this schema yet: ${JSON.stringify(schema)}`);
}

function arrayOf(items: readonly string[]): string {
  return items.length === 1 ? `${items[0]}[]` : `(${items.join(' | ')})[]`;
}

/** With a plain `string` beside them, an editor would not show the known values of an open set. */
const ANOTHER_TEXT = 'NewValue';

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}
