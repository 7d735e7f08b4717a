/** Holds one answer against the OpenAPI document: its status, its media type, and its body by the documented schema. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { OpenApiDocument } from '../../../functions/api/documentation/openapi.ts';

interface GivenAnswer {
  readonly status: number;
  /** The content type is undefined when the answer has no such header. */
  readonly contentType: string | undefined;
  readonly text: string;
}

interface DescribedAnswer {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** Names what of an answer lies outside of the document, and returns undefined when nothing does. */
export type CheckAnswer = (method: string, path: string, answer: GivenAnswer) => string | undefined;

/**
 * Creates the check. An answer that is only under `default` counts as not described, because `default` would let
 * every answer pass.
 */
export function createAnswerCheck(document: OpenApiDocument): CheckAnswer {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: 'document', components: document.components });
  const validators = new Map<object, ValidateFunction>();
  const validatorOf = (schema: object): ValidateFunction => {
    const known = validators.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components');
    const made = ajv.compile(JSON.parse(text));
    validators.set(schema, made);
    return made;
  };
  return (method, path, { status, contentType, text }) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) return `${method} ${path} is not in the document`;
    const described: DescribedAnswer | undefined = operation.responses[String(status)];
    if (described === undefined) return `the status ${status} is not described`;
    if (text === '') return faultOfEmpty(status, described);
    const mediaType = contentType?.split(';')[0] ?? 'none';
    const media = described.content?.[mediaType] ?? described.content?.['*/*'];
    if (media === undefined) return `${status} with the media type ${mediaType} is not described`;
    if (mediaType === 'text/html' || described.content?.['*/*'] === media) return undefined;
    const validate = validatorOf(media.schema);
    if (validate(parsed(text))) return undefined;
    return `${status} ${mediaType}: ${ajv.errorsText(validate.errors)} in ${text.slice(0, 200)}`;
  };
}

function faultOfEmpty(status: number, { content }: DescribedAnswer): string | undefined {
  return content === undefined ? undefined : `${status} has no body, and the document describes one`;
}

/** Parses JSON, and keeps any other text, which fits no schema of an object. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
