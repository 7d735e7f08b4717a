/** Turns a call of the public table into the form in which it is sent: any JSON object and any parameter pass, and the upstream judges them. */

import * as z from 'zod';
import type { Call, Reach } from '../calls/call.ts';
import { declaredBody } from './declared-body.ts';
import type { PublicCall } from './public-call.ts';

/** All calls share these schemas, because schemas are built at every cold start. */
const anyObject = z.looseObject({});
const anyAnswer = z.unknown();
const noAnswer = z.undefined();

/** A caller who is limited to projects may send only these. */
export interface DeclaredFields {
  readonly query: readonly string[];
  /** The schema is built when it is asked for, because most processes never meet a limited caller of most calls. */
  readonly body: () => z.ZodObject;
}

export function callOf(call: PublicCall): Call {
  const { request, summary, status = 200, otherStatus } = call;
  const [method, path] = request.split(' ') as [Call['method'], string];
  return {
    method,
    path,
    reach: reachOf(call),
    summary,
    section: 'The public API',
    query: anyObject,
    ...(method !== 'GET' && { body: anyObject, isBodyOptional: true }),
    answer: call.answer === 'nothing' || status === 204 ? noAnswer : anyAnswer,
    status,
    ...(otherStatus !== undefined && { otherStatus }),
  };
}

/** A path with a project in it stays within this project, unless the table says otherwise. */
function reachOf({ request, reach }: PublicCall): Reach {
  return reach ?? (request.includes('{project_id}') ? 'path_project' : 'account');
}

export function declaredFieldsOf({ query, fields }: PublicCall): DeclaredFields {
  let built: z.ZodObject | undefined;
  return {
    query: wordsOf(query),
    body: () => (built ??= declaredBody(wordsOf(fields))),
  };
}

function wordsOf(text = ''): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
